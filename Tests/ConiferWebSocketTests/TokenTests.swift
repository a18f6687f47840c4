#if Network
  import Conifer
  import ConiferQuery
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import Synchronization
  import TestSupport
  import Testing

  /// Tokens that end, or are refused, while a client writes over a socket.
  @Suite(.timeLimit(.minutes(10)), .serialized) struct TokenTests {
    /// Gives the tokens of a list, one after the other, when it is allowed to.
    private final class Tokens: TokenProvider {
      private struct State {
        var texts: [String]
        var allowed: Int
        var asked: [Bool] = []
      }

      private let state: Mutex<State>

      /// - Parameters:
      ///   - texts: the tokens; the last one is given again and again.
      ///   - allowed: how many are given before `allow()`.
      init(_ texts: [String], allowed: Int) {
        state = Mutex(State(texts: texts, allowed: allowed))
      }

      /// Whether a token had to be a new one, for each time that one was asked for.
      var asked: [Bool] { state.withLock { $0.asked } }

      func allow() { state.withLock { $0.allowed = .max } }

      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        state.withLock { $0.asked.append(forcingRefresh) }
        while true {
          let text = state.withLock { state -> String? in
            guard state.allowed > 0 else { return nil }
            state.allowed -= 1
            return state.texts.count > 1 ? state.texts.removeFirst() : state.texts.first
          }
          if let text { return AuthToken(text, identity: "ada") }
          try await Task.sleep(for: .milliseconds(2))
        }
      }
    }

    /// All numbers that a place has from now on, in their order.
    private func numbers(at query: DatabaseQuery) -> Gathered<Int64> {
      let seen = Gathered<Int64>()
      query.observe(.value) { snapshot in
        if case .integer(let number)? = snapshot.node.leaf { seen.add(number) }
      }
      return seen
    }

    private let clock = ServerClock(stoppedAt: 1_700_000_000_000)
    private let tokens = TokenTable()

    private func service() async throws -> Service {
      let rules = ClosureRules(
        read: { target, context in target.path == "last" || context.auth?.uid == "ada" },
        write: { _, _, context in context.auth?.uid == "ada" })
      return try await Service(
        ServerConfiguration(authenticator: tokens, rules: rules, clock: clock))
    }

    private func write(_ database: Database, _ numbers: ClosedRange<Int>) -> [WriteReceipt] {
      numbers.map { number in
        database.reference().updateChildValues(["last": number, "log/n\(number)": number])
      }
    }

    @Test(arguments: [true, false])
    func `A token that ends holds writes back until there is another, and they go on in order`(
      _ isNoticed: Bool
    ) async throws {
      let service = try await service()
      tokens.set("one", VerifiedToken(uid: "ada", expires: clock.now + 60_000))
      tokens.set("two", VerifiedToken(uid: "ada", expires: clock.now + 600_000))
      let provider = Tokens(["one", "two"], allowed: 1)
      let database = client(service.url, speed: 5) { $0.tokenProvider = provider }
      let other = client(service.url)
      let numbers = numbers(at: other.reference(withPath: "last"))
      await Watch(other.reference(withPath: "last")).wait { $0.isEmpty }
      let secret = Watch(database.reference(withPath: "log"))
      for receipt in write(database, 1...20) { try await receipt.acknowledged() }
      #expect(database.authState == .signedIn(identity: "ada"))

      clock.advance(by: 60_000)
      // The server tells when time has passed, or when the next request comes.
      if isNoticed { service.server.tick() }
      var receipts = write(database, 21...40)
      await wait(for: "writes to wait, not \(database.authState)") { database.authState.isPaused }
      receipts += write(database, 41...60)
      await wait(for: "a forced request for a token") { provider.asked.last == true }
      // The server has answered a later request of another client.
      _ = try await other.reference(withPath: "last").getData()
      #expect(service.data("last") == 20)
      let totals = try await database.pendingWriteTotals()
      #expect(totals.pending == 40)
      // What was listened to stays to be seen, with what waits.
      await secret.wait { $0.childCount == 60 }

      provider.allow()
      for receipt in receipts { try await receipt.acknowledged() }
      #expect(database.authState == .signedIn(identity: "ada"))
      await wait(for: "the number 60 after \(numbers.all.last ?? 0)") { numbers.all.last == 60 }
      #expect(numbers.all == Array(1...60))
      #expect(service.data("log").childCount == 60)
      // It listens again: what others write is told.
      service.server.set("log/other", 1, in: Service.namespace)
      await secret.wait { $0.childCount == 61 }
      #expect(provider.asked.first == false && provider.asked.contains(true))
      for one in [database, other] { await one.close() }
      await service.http.stop()
    }

    @Test func `A token that is refused holds writes back until one is taken`() async throws {
      let service = try await service()
      tokens.set("good", VerifiedToken(uid: "ada"))
      let provider = Tokens(["bad", "worse", "good"], allowed: 2)
      let database = client(service.url, speed: 50) { $0.tokenProvider = provider }
      // On a busy machine the first token may take longer than this clock waits for it, and a write would be nobody's.
      await wait(for: "ada, not \(database.authState)") { database.authState.identity == "ada" }
      let receipts = write(database, 1...10)
      await wait(for: "three requests for tokens, not \(provider.asked.count)") {
        provider.asked.count >= 3 && database.authState.isPaused
      }
      guard case .expired("ada", let error) = database.authState else {
        Issue.record("The state is \(database.authState).")
        return
      }
      #expect(!error.message.contains("worse"))
      #expect(service.data().isEmpty)
      let totals = try await database.pendingWriteTotals()
      #expect(totals.pending == 10)
      provider.allow()
      for receipt in receipts { try await receipt.acknowledged() }
      #expect(service.data("last") == 10)
      #expect(service.data("log").childCount == 10)
      #expect(database.authState == .signedIn(identity: "ada"))
      await database.close()
      await service.http.stop()
    }
  }
#endif
