import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: who the client is")
struct AuthenticationTests {
  private typealias Bench = ConnectionBench
  private let ada = ConnectionBench.token("ada")
  private let lane = ConnectionBench.lane("ada")

  @Test("a token is shown first, and all else waits for the answer")
  func first() {
    var bench = Bench(lane: lane, newest: 7, usesTokens: true)
    bench.give(.listen(Bench.listen("a")))
    bench.give(.get(OperationID(rawValue: 1), Bench.listen("b").target))
    #expect(bench.give(.reasonEnded(.starting)).fetches == [false])
    #expect(bench.tell(.token(ada)).connects.count == 1)
    let greeting = bench.hello()
    #expect(greeting.requests.map(\.request) == [.authenticate(ada.credential)])
    #expect(greeting.listens.isEmpty)
    bench.give(.listen(Bench.listen("c")))
    bench.give(.write(Bench.write(8, in: lane)))
    #expect(bench.machine.authentication == .pending)
    let actions = bench.answer(1)
    #expect(
      actions == [
        .keepToken(ada), .sendListen(2, Bench.listen("a")), .sendListen(3, Bench.listen("c")),
        .send(.request(4, .get(Bench.listen("b").target))), .writable(true),
        .needWrites(lane, after: nil, limit: 64), .authentication(.authenticated),
      ])
    let page = [Bench.write(7, in: lane), Bench.write(8, in: lane)]
    let sent = bench.give(.writes(page, lane, after: nil, isLast: true)).requests.map(\.request)
    #expect(sent == [page[0].request, page[1].request])
  }

  @Test("a refused token pauses everything, and the next one is asked for by force")
  func refused() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.give(.reasonEnded(.starting))
    bench.tell(.token(ada))
    bench.hello()
    let actions = bench.answer(1, Response(.permissionDenied, reason: "no"))
    #expect(actions.fetches.contains(true))
    #expect(actions.last == .authentication(.blocked(.refused("no"))))
    bench.give(.write(Bench.write(1, in: lane)))
    bench.give(.listen(Bench.listen("a")))
    #expect(bench.pass(10_000).isEmpty)
    let second = Bench.token("ada", "second")
    #expect(
      bench.tell(.token(second)).requests.map(\.request)
        == [.authenticate(second.credential)])
    let taken = bench.answer(2)
    #expect(taken.listens.map(\.number) == [3])
    #expect(taken.last == .authentication(.authenticated))
  }

  @Test("the third refusal in a row slows down")
  func slowed() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.give(.reasonEnded(.starting))
    bench.tell(.token(ada))
    bench.hello()
    #expect(bench.answer(1, Response(.invalidToken)).fetches.contains(true))
    bench.tell(.token(ada))
    #expect(!bench.answer(2, Response(.invalidToken)).fetches.contains(true))
    #expect(bench.pass(1_000).fetches.contains(true))
    bench.tell(.token(ada))
    bench.answer(3, Response(.invalidToken))
    #expect(bench.pass(29_000).isEmpty)
    #expect(bench.pass(1_000).fetches.contains(true))
    // Also when the server closes the connection.
    #expect(!bench.lose().fetches.contains(true))
    #expect(bench.pass(29_000).isEmpty)
    // A network that returns neither hurries nor delays it.
    #expect(bench.give(.networkReturned).isEmpty)
    #expect(bench.pass(1_000).fetches.contains(true))
  }

  @Test("a revoked token pauses; what was refused for that is sent again in order")
  func revoked() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let listen = Bench.listen("a")
    #expect(bench.give(.listen(listen)).listens.map(\.number) == [2])
    bench.answer(2)
    let writes = (1...3).map { Bench.write($0, in: lane) }
    bench.give(.write(writes[0]))
    bench.give(.write(writes[1]))
    let pushed = bench.receive(.push(.authRevoked(.expiredToken, reason: "old")))
    #expect(pushed.contains(.writable(false)) && pushed.fetches.contains(true))
    #expect(pushed.last == .authentication(.blocked(.expired("old"))))
    // Refused for want of a token: not an answer.
    #expect(
      bench.answer(3, Response(.permissionDenied)) == [.writeReturned(writes[0].id)])
    #expect(bench.receive(.push(.listenRevoked("a", .default))).isEmpty)
    #expect(bench.answer(4, .ok) == [.writeAnswered(writes[1].id, .ok)])
    #expect(bench.give(.write(writes[2])).isEmpty)
    // Data still comes.
    let news = Push.overwrite("a", 1, tag: nil)
    #expect(bench.receive(.push(news)) == [.updated(.overwrite("a", 1, tag: nil))])
    let second = Bench.token("ada", "second")
    let shown = bench.tell(.token(second))
    #expect(shown.requests.map(\.request) == [.authenticate(second.credential)])
    let taken = bench.answer(shown.lastNumber)
    #expect(taken.listens.map(\.listen) == [listen])
    // Write 2 has ended.
    let sent = bench.give(.writes([writes[0], writes[2]], lane, after: nil, isLast: true))
    #expect(sent.puts == ["w/1", "w/3"])
  }

  @Test("a write that is answered with an expired token pauses as well")
  func expiredAnswer() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.write(Bench.write(1, in: lane)))
    let actions = bench.answer(2, Response(.expiredToken, reason: "old"))
    #expect(actions.fetches.contains(true))
    #expect(actions.last == .authentication(.blocked(.expired("old"))))
    #expect(!actions.contains { if case .writeAnswered = $0 { true } else { false } })
  }

  @Test(
    "a token is replaced before its expiry, and writes wait for it, so that none overtakes another")
  func refreshed() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: Bench.token("ada", "old", until: 10_000 + 500 + 3_600_000))
    #expect(!bench.pass(3_299_000).fetches.contains(true))
    #expect(bench.pass(1_000).fetches.contains(true))
    let next = Bench.token("ada", "new", until: 100_000_000)
    let shown = bench.tell(.token(next))
    #expect(shown.requests.map(\.request) == [.authenticate(next.credential)])
    #expect(bench.give(.write(Bench.write(1, in: lane))).isEmpty)
    let taken = bench.answer(shown.lastNumber)
    #expect(taken.first == .keepToken(next) && taken.puts == ["w/1"])
    #expect(bench.machine.authentication == .authenticated)
  }

  @Test("a token whose time is over pauses writes until another one is taken")
  func expired() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: Bench.token("ada", "old", until: 10_000 + 500 + 3_600_000))
    bench.pass(3_300_000)
    bench.tell(.failed("no network"))
    let actions = bench.pass(300_000)
    #expect(
      actions.contains { if case .authentication(.blocked(.expired)) = $0 { true } else { false } })
    #expect(actions.contains(.writable(false)))
    #expect(bench.give(.write(Bench.write(1, in: lane))).isEmpty)
    let next = Bench.token("ada", "new")
    let shown = bench.tell(.token(next))
    #expect(bench.answer(shown.lastNumber).contains(.writable(true)))
  }

  @Test("another user: writes of the first one end, and are never sent as the second one's")
  func identity() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.write(Bench.write(1, in: lane)))
    bench.give(.write(Bench.write(2, in: lane)))
    let disconnect = OperationID(rawValue: 9)
    let bob = Bench.token("bob")
    let changed = bench.tell(.token(bob))
    #expect(changed.contains(.laneChanged(Bench.lane("bob"))))
    #expect(changed.requests.map(\.request) == [.authenticate(bob.credential)])
    bench.give(.laneOpened(newest: WriteID(rawValue: 40)))
    bench.give(.onDisconnect(disconnect, .cancel("a")))
    #expect(bench.give(.write(Bench.write(3, in: lane))).isEmpty)
    // An answer that comes before the one to the new token is the old user's.
    #expect(bench.answer(2) == [.writeAnswered(Bench.id(1, in: lane), .ok)])
    let taken = bench.answer(changed.lastNumber)
    #expect(taken.contains(.writeOutcomeUnknown(Bench.id(2, in: lane))))
    #expect(taken.contains(.needWrites(Bench.lane("bob"), after: nil, limit: 64)))
    // A page of the old lane that comes late is not taken.
    #expect(bench.give(.writes([Bench.write(2, in: lane)], lane, after: nil, isLast: true)).isEmpty)
    let page = [Bench.write(40, in: Bench.lane("bob"))]
    let sent = bench.give(.writes(page, Bench.lane("bob"), after: nil, isLast: true))
    #expect(sent.requests.map(\.request) == [page[0].request, .onDisconnectCancel("a")])
    #expect(bench.answer(3).isEmpty)
  }

  @Test("what one user issued and was not sent is not sent as another one's")
  func identityOfOperations() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.give(.onDisconnect(OperationID(rawValue: 1), .cancel("a")))
    bench.give(.get(OperationID(rawValue: 2), Bench.listen("b").target))
    bench.give(.reasonEnded(.starting))
    let actions = bench.tell(.token(Bench.token("bob")))
    #expect(actions.contains(.onDisconnectGivenUp(OperationID(rawValue: 1), .identityChanged)))
    bench.give(.laneOpened(newest: nil))
    bench.hello()
    // A read is done for whoever is signed in.
    #expect(bench.answer(1).requests.map(\.request) == [.get(Bench.listen("b").target)])
    #expect(bench.give(.writes([], Bench.lane("bob"), after: nil, isLast: true)).isEmpty)
  }

  @Test("signing out takes the token back, and writes go out as nobody's")
  func signedOut() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let actions = bench.tell(.signedOut)
    #expect(actions.contains(.laneChanged(Bench.nobody)) && actions.contains(.keepToken(nil)))
    #expect(actions.requests.map(\.request) == [.unauthenticate])
    bench.give(.laneOpened(newest: nil))
    #expect(bench.answer(2).contains(.writable(true)))
    #expect(bench.machine.authentication == .signedOut)
    bench.give(.writes([], Bench.nobody, after: nil, isLast: true))
    #expect(bench.give(.write(Bench.write(1))).puts == ["w/1"])
  }

  @Test("without a token of somebody who is signed in there is no connection")
  func unavailable() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.give(.reasonEnded(.starting))
    let actions = bench.tell(.failed("away"))
    #expect(actions.connects.isEmpty)
    #expect(actions.last == .authentication(.blocked(.unavailable("away"))))
    #expect(bench.pass(1_000).fetches == [false])
    #expect(bench.tell(.token(ada)).connects.count == 1)
    #expect(bench.machine.authentication == .pending)
  }

  @Test("a kept token serves while the provider fails, unless its time is over")
  func kept() {
    for (expiry, isUsed) in [(Int64(5_000), false), (50_000, true)] {
      let token = Bench.token("ada", "kept", until: expiry)
      var bench = Bench(lane: lane, usesTokens: true, token: token)
      #expect(bench.machine.authentication == .pending)
      bench.give(.reasonEnded(.starting))
      #expect(bench.tell(.failed("away")).connects.isEmpty != isUsed)
    }
  }

  @Test("a provider that does not answer has failed")
  func silentProvider() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.give(.reasonEnded(.starting))
    #expect(bench.pass(29_999).isEmpty)
    bench.pass(1)
    #expect(
      bench.machine.authentication == .blocked(.unavailable("It did not answer in time.")))
  }

  @Test("no token shows in descriptions")
  func hidden() {
    let token = UserToken(Credential("secret"), identity: "ada", expiry: 5)
    #expect(!"\(token)".contains("secret"))
    #expect(!"\([ConnectionAction.keepToken(token)])".contains("secret"))
    let request = ConnectionAction.send(.request(1, .authenticate(token.credential)))
    #expect(!"\(request)".contains("secret"))
  }
}
