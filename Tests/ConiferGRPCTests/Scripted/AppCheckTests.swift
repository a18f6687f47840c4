#if GRPC
  import ConiferDocument
  import ConiferEngine
  import ConiferFirestore
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("The app's own tokens over gRPC", .timeLimit(.minutes(5)))
  struct AppCheckTests {
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

    /// A service that shows tokens by a clock that a test moves.
    private func clocked(
      _ server: ScriptedServer, _ attestation: Attestation, _ clock: TestClock
    ) throws -> GRPCService {
      let sleep = ScriptedSleep()
      return try service(
        server.port, appTokens: AppCheckTokens(attestation, clock: clock, sleep: sleep.sleep))
    }

    /// A call that the server takes, says one thing on after some time, and then ends as that of nobody.
    private func taken(
      _ server: ScriptedServer, _ service: GRPCService, _ wait: () -> Void = {}
    ) async throws -> String? {
      let line = WatchLine(service)
      let call = try await server.next()
      #expect(await line.opened())
      try call.send(Answers.target(.noChange, token: "t", at: 7))
      _ = try await line.said()
      wait()
      call.end(RPCError(code: .unauthenticated, message: "over"))
      _ = await line.end()
      return call.header(Self.name)
    }

    @Test("A refused one is replaced by force; after a second refusal it is shown on for a time")
    func refused() async throws {
      let server = try await ScriptedServer()
      let (attestation, clock) = (Attestation(), TestClock(0))
      let service = try clocked(server, attestation, clock)
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      #expect(try await shown(server, service, .unauthenticated) == "app-2")
      #expect(try await shown(server, service, .unauthenticated) == "app-2")
      clock.pass(29_999)
      #expect(try await shown(server, service, .unauthenticated) == "app-2")
      #expect(attestation.asked == [false, true])
      clock.pass(1)
      // Nobody waits for the answer.
      attestation.hold()
      #expect(try await shown(server, service, .unauthenticated) == "app-2")
      try await attestation.waits(for: 3)
      attestation.release()
      try await eventually("The answer is not there.") {
        try await shown(server, service) == "app-3"
      }
      #expect(try await shown(server, service, .unauthenticated) == "app-3")
      #expect(try await shown(server, service) == "app-3")
      #expect(attestation.asked == [false, true, true])
    }

    @Test("A refused one is shown on while the provider fails")
    func refusedAndFailing() async throws {
      let server = try await ScriptedServer()
      let (attestation, clock) = (Attestation(), TestClock(0))
      let service = try clocked(server, attestation, clock)
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      attestation.fail()
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      clock.pass(29_999)
      #expect(try await shown(server, service) == "app-1")
      #expect(attestation.asked == [false, true])
      attestation.recover()
      clock.pass(1)
      #expect(try await shown(server, service) == "app-2")
    }

    @Test("A token that the server took for long begins the count of refusals anew")
    func takenForLong() async throws {
      let server = try await ScriptedServer()
      let (attestation, clock) = (Attestation(), TestClock(0))
      let service = try clocked(server, attestation, clock)
      #expect(try await shown(server, service, .unauthenticated) == "app-1")
      #expect(try await taken(server, service) { clock.pass(30_000) } == "app-2")
      #expect(try await shown(server, service) == "app-3")
    }

    @Test("A server that says one thing and then refuses has no token forced at each attempt")
    func takenForAMoment() async throws {
      let server = try await ScriptedServer()
      let (attestation, clock) = (Attestation(), TestClock(0))
      let service = try clocked(server, attestation, clock)
      #expect(try await taken(server, service) == "app-1")
      for _ in 0..<3 {
        #expect(try await taken(server, service) { clock.pass(9_999) } == "app-2")
      }
      #expect(attestation.asked == [false, true])
      clock.pass(3)
      attestation.hold()
      #expect(try await shown(server, service) == "app-2")
      try await attestation.waits(for: 3)
      attestation.release()
      #expect(attestation.asked == [false, true, true])
    }

    @Test("A provider that fails is asked again after 30 seconds, and holds nothing up")
    func failing() async throws {
      let server = try await ScriptedServer()
      let (attestation, clock) = (Attestation(), TestClock(0))
      attestation.fail()
      let service = try clocked(server, attestation, clock)
      #expect(try await shown(server, service) == nil)
      clock.pass(29_999)
      #expect(try await shown(server, service) == nil)
      #expect(attestation.asked == [false])
      attestation.recover()
      clock.pass(1)
      #expect(try await shown(server, service) == "app-1")
      #expect(attestation.asked == [false, false])
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
      try await eventually("No call waits.") { sleep.lengths.contains(.seconds(10)) }
      #expect(server.waiting == 0)
      sleep.end(.seconds(10))
      let call = try await server.next()
      #expect(call.header(Self.name) == nil)
      line.stream.close()
      #expect(try await shown(server, service) == nil)
      attestation.release()
      try await eventually("The answer is not there.") { await tokens.current() != nil }
      #expect(try await shown(server, service) == "app-1")
      #expect(attestation.asked == [false])
    }

    @Test("A stream that is closed while its token is fetched is never opened")
    func closed() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      attestation.hold()
      let service = try clocked(server, attestation, TestClock(0))
      let line = WatchLine(service)
      try await attestation.waits(for: 1)
      line.stream.close()
      #expect(await line.end() == nil)
      attestation.release()
      #expect(try await shown(server, service) == "app-1")
      #expect(server.waiting == 0 && attestation.asked == [false])
    }

    @Test("A request whose user is made sure of waits for no token of the app: that comes before")
    func prepared() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      attestation.hold()
      let service = try clocked(server, attestation, TestClock(0))
      let path = try DocumentPath("rooms/a")
      let ready = Task { await service.prepare() }
      try await attestation.waits(for: 1)
      for isPrepared in [false, true] {
        if isPrepared {
          attestation.release()
          await ready.value
        }
        let commit = Task {
          try await service.commit([Mutation(path, .delete)], token: "ann")
        }
        let call = try await server.next()
        #expect(call.header(Self.name) == (isPrepared ? "app-1" : nil))
        call.end(RPCError(code: .aborted, message: "no"))
        await #expect(throws: StatusError(.aborted, "no")) { try await commit.value }
      }
    }

    @Test("The app's word that there is another one reaches the transport")
    func told() async throws {
      let server = try await ScriptedServer()
      let attestation = Attestation()
      let service = try clocked(server, attestation, TestClock(0))
      #expect(try await shown(server, service) == "app-1")
      attestation.change()
      let firestore = firestore(service)
      firestore.appCheckTokenDidChange()
      #expect(try await shown(server, service) == "app-2")
      #expect(attestation.asked == [false, false])
      try await firestore.terminate()
    }

    @Test("A text that is no header's value is not shown")
    func unprintable() async throws {
      final class Odd: AppCheckProvider {
        let count = Mutex(0)
        func token(forcingRefresh: Bool) async throws -> AppCheckToken {
          count.withLock { $0 += 1 }
          return AppCheckToken("a\r\nb")
        }
      }
      let server = try await ScriptedServer()
      let odd = Odd()
      let service = try service(server.port, appTokens: AppCheckTokens(odd))
      #expect(try await shown(server, service) == nil)
      #expect(odd.count.withLock { $0 } == 1)
    }
  }
#endif
