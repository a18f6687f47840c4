#if GRPC
  import ConiferDocument
  import ConiferEngine
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import Synchronization
  import Testing

  @testable import ConiferGRPC

  @Suite("The app's own tokens over gRPC", .timeLimit(.minutes(5)))
  struct AppCheckTests {
    /// A provider whose tokens are numbered; one that is forced is another one.
    private final class Attestation: AppCheckProvider {
      struct Unavailable: Error {}

      private struct State {
        var number = 1
        var isFailing = false
        var isHolding = false
        var held: [CheckedContinuation<Void, Never>] = []
        var asked: [Bool] = []
      }

      private let state = Mutex(State())
      private let expiry: Int64?

      init(expiry: Int64? = nil) { self.expiry = expiry }

      /// Whether each question was for another token.
      var asked: [Bool] { state.withLock { $0.asked } }
      func fail() { state.withLock { $0.isFailing = true } }
      func hold() { state.withLock { $0.isHolding = true } }

      func release() {
        let held = state.withLock { state in
          defer { (state.held, state.isHolding) = ([], false) }
          return state.held
        }
        for continuation in held { continuation.resume() }
      }

      func token(forcingRefresh: Bool) async throws -> AppCheckToken {
        await withCheckedContinuation { continuation in
          let goesOn = state.withLock { state in
            state.asked.append(forcingRefresh)
            if state.isHolding { state.held.append(continuation) }
            return !state.isHolding
          }
          if goesOn { continuation.resume() }
        }
        return try state.withLock { state in
          if state.isFailing { throw Unavailable() }
          if forcingRefresh { state.number += 1 }
          return AppCheckToken("app-\(state.number)", expiry: expiry)
        }
      }
    }

    private static let name = "x-firebase-appcheck"

    /// The app's token of the next call, whose stream is closed by the server with an error.
    private func shown(
      _ server: ScriptedServer, _ service: GRPCService, _ code: RPCError.Code = .unavailable
    ) async throws -> String? {
      let line = WatchLine(service)
      let call = try await server.next()
      call.end(RPCError(code: code, message: "no"))
      _ = await line.end()
      return call.header(Self.name)
    }

    @Test("Each stream and request shows the token, for which the provider is asked once")
    func header() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      let service = try service(server.port, appTokens: AppCheckTokens(attestation))
      #expect(try await shown(server, service) == "app-1")
      #expect(try await shown(server, service) == "app-1")
      let writes = service.openWrites(token: nil) { _ in }
      #expect(try await server.next().header(Self.name) == "app-1")
      writes.close()
      let path = try DocumentPath("rooms/a")
      let documents = Task { try await service.lookup([path], token: nil) }
      let get = try await server.next()
      #expect(get.header(Self.name) == "app-1")
      get.end(RPCError(code: .unavailable, message: "later"))
      await #expect(throws: StatusError(.unavailable, "later")) { try await documents.value }
      #expect(attestation.asked == [false])
    }

    @Test("A refused one is replaced by force; after a second refusal calls go without for a time")
    func refused() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      let service = try service(server.port, appTokens: AppCheckTokens(attestation))
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      #expect(try await shown(server, service, .unauthenticated) == "app-2")
      #expect(try await shown(server, service, .unauthenticated) == nil)
      #expect(attestation.asked == [false, true])
    }

    @Test("A call that the server took begins the count of refusals anew")
    func taken() async throws {
      let server = try await ScriptedServer()
      let service = try service(server.port, appTokens: AppCheckTokens(Attestation()))
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      let line = WatchLine(service)
      let call = try await server.next()
      #expect(call.header(Self.name) == "app-2")
      #expect(await line.opened())
      try call.send(Answers.target(.noChange, token: "t", at: 7))
      _ = try await line.said()
      call.end(RPCError(code: .unauthenticated, message: "over"))
      _ = await line.end()
      #expect(try await shown(server, service) == "app-3")
    }

    @Test("A provider that fails is not asked again at once, and holds nothing up")
    func failing() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      attestation.fail()
      let service = try service(server.port, appTokens: AppCheckTokens(attestation))
      #expect(try await shown(server, service) == nil)
      #expect(try await shown(server, service) == nil)
      #expect(attestation.asked == [false])
    }

    @Test("A provider that does not answer is waited for ten seconds, once; its late answer counts")
    func late() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      attestation.hold()
      let sleep = ScriptedSleep()
      let tokens = AppCheckTokens(attestation, sleep: sleep.sleep)
      let service = try service(server.port, appTokens: tokens)
      let line = WatchLine(service)
      while !sleep.lengths.contains(.seconds(10)) { await Task.yield() }
      #expect(server.waiting == 0)
      sleep.end(.seconds(10))
      let call = try await server.next()
      #expect(call.header(Self.name) == nil)
      line.stream.close()
      #expect(try await shown(server, service) == nil)
      attestation.release()
      while await tokens.current() == nil { await Task.yield() }
      #expect(try await shown(server, service) == "app-1")
      #expect(attestation.asked == [false])
    }

    @Test("A token whose lifetime is half over is shown while another one is fetched")
    func renewed() async throws {
      let clock = WallClock(1_000_000)
      let attestation = Attestation(expiry: 1_000_100)
      let tokens = AppCheckTokens(attestation, clock: clock)
      #expect(await tokens.current() == "app-1")
      clock.wallTime = 1_000_050
      attestation.hold()
      #expect(await tokens.current() == "app-1")
      while attestation.asked.count < 2 { await Task.yield() }
      #expect(await tokens.current() == "app-1")
      attestation.release()
      while await tokens.current() == "app-1" { await Task.yield() }
      #expect(attestation.asked == [false, true])
      #expect(await tokens.current() == "app-2")
      clock.wallTime = 1_000_200
      #expect(await tokens.current() == "app-3")
    }

    @Test("A text that is no header's value is not shown")
    func unprintable() async throws {
      struct Odd: AppCheckProvider {
        func token(forcingRefresh: Bool) async throws -> AppCheckToken { AppCheckToken("a\r\nb") }
      }
      #expect(await AppCheckTokens(Odd()).current() == nil)
    }

    /// A time of day that a test sets.
    private final class WallClock: EngineClock {
      private let time: Mutex<Int64>

      init(_ time: Int64) { self.time = Mutex(time) }

      var now: Int64 { 0 }
      var wallTime: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
      }
      func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {}
    }
  }
#endif
