import ConiferQuery
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: the app's own tokens")
struct AppCheckTests {
  private typealias Bench = ConnectionBench

  private static func token(_ text: String, until expiry: Int64? = nil) -> AppToken {
    AppToken(Credential(text), expiry: expiry)
  }

  private let first = token("first")
  private let second = token("second")

  /// A bench that is connected with a token.
  private func connected(with token: AppToken) -> Bench {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    bench.give(.appToken(.token(token), fetch: 1))
    bench.hello()
    bench.give(.writes([], bench.machine.lane, after: nil, isLast: true))
    return bench
  }

  @Test("a token goes with the connection and is shown first, and nothing waits for the answer")
  func shown() {
    var bench = Bench(usesAppCheck: true)
    let started = bench.give(.reasonEnded(.starting))
    #expect(started.appFetches == [false])
    #expect(started.connects.isEmpty)
    var request = ConnectionRequest(namespace: "ns")
    request.appToken = first.credential
    #expect(bench.give(.appToken(.token(first), fetch: 1)).connects == [request])
    let greeting = bench.hello()
    #expect(greeting.requests.map(\.request) == [.appCheck("first")])
    #expect(greeting.contains(.writable(true)))
    #expect(bench.answer(1).requests.isEmpty)
  }

  @Test("the user's token is asked for before, and shown after it")
  func besideTheUser() {
    let ada = Bench.token("ada")
    var bench = Bench(lane: Bench.lane("ada"), usesTokens: true, usesAppCheck: true)
    let started = bench.give(.reasonEnded(.starting))
    #expect(started.fetches == [false])
    #expect(started.appFetches.isEmpty)
    let known = bench.tell(.token(ada))
    #expect(known.appFetches == [false])
    #expect(known.connects.isEmpty)
    #expect(bench.give(.appToken(.token(first), fetch: 1)).connects.count == 1)
    #expect(
      bench.hello().requests.map(\.request) == [
        .appCheck("first"), .authenticate(ada.credential),
      ])
    #expect(bench.answer(1, Response(.invalidToken, reason: "no")).appFetches == [true])
    #expect(bench.answer(2).contains(.authentication(.authenticated)))
  }

  @Test("a provider that fails holds nothing up, and is asked again")
  func fails() {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    let failed = bench.give(.appToken(.failed("no network"), fetch: 1))
    #expect(failed.connects == [ConnectionRequest(namespace: "ns")])
    #expect(bench.hello().requests.isEmpty)
    #expect(bench.pass(999).appFetches.isEmpty)
    #expect(bench.pass(1).appFetches == [false])
    let late = bench.give(.appToken(.token(first), fetch: 2))
    #expect(late.requests.map(\.request) == [.appCheck("first")])
  }

  @Test("a provider that does not answer is waited for ten seconds, and its late answer counts")
  func isSlow() {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    #expect(bench.pass(9_999).connects.isEmpty)
    #expect(bench.pass(1).connects == [ConnectionRequest(namespace: "ns")])
    #expect(bench.hello().requests.isEmpty)
    #expect(bench.pass(60_000).appFetches.isEmpty)
    let again = bench.lose() + bench.pass(2_000)
    #expect(again.connects.count == 1 && again.appFetches.isEmpty)
    #expect(bench.hello().requests.isEmpty)
    let late = bench.give(.appToken(.token(first), fetch: 1))
    #expect(late.requests.map(\.request) == [.appCheck("first")])
  }

  @Test("a token is replaced before its expiry")
  func replaced() {
    // The server's clock is half a second ahead.
    var bench = connected(with: Self.token("old", until: 10_000 + 500 + 3_600_000))
    bench.answer(1)
    #expect(bench.pass(3_299_999).appFetches.isEmpty)
    #expect(bench.pass(1).appFetches == [true])
    let shown = bench.give(.appToken(.token(second), fetch: 2))
    #expect(shown.requests.map(\.request) == [.appCheck("second")])
  }

  @Test("one that expires before another is there is no longer shown")
  func expired() {
    var bench = connected(with: Self.token("old", until: 10_000 + 500 + 3_600_000))
    bench.answer(1)
    bench.give(.reasonBegan(.offline))
    bench.pass(3_600_000)
    let back = bench.give(.reasonEnded(.offline))
    #expect(back.connects.isEmpty)
    #expect(back.appFetches == [true])
    #expect(bench.give(.appToken(.failed("none"), fetch: 2)).connects.map(\.appToken) == [nil])
    #expect(bench.hello().requests.isEmpty)
  }

  @Test("a refused token is replaced by force, ever more slowly, and the connection stays")
  func refused() {
    var bench = connected(with: first)
    let actions = bench.answer(1, Response(.invalidToken, reason: "no"))
    #expect(actions.appFetches == [true])
    #expect(bench.machine.isWritable)
    #expect(bench.machine.authentication == .signedOut)
    bench.give(.appToken(.token(second), fetch: 2))
    #expect(bench.answer(2, Response(.permissionDenied, reason: "no")).appFetches.isEmpty)
    #expect(bench.pass(1_000).appFetches == [true])
    bench.give(.appToken(.token(Self.token("third")), fetch: 3))
    bench.answer(3)
    let over = bench.receive(.push(.appCheckRevoked(.expiredToken, reason: "over")))
    #expect(over.appFetches.isEmpty)
    #expect(bench.pass(29_999).appFetches.isEmpty)
    #expect(bench.pass(1).appFetches == [true])
    #expect(bench.machine.isWritable)
  }

  @Test("a token that was taken for long begins the delays anew")
  func takenForLong() {
    var bench = connected(with: first)
    bench.answer(1, Response(.invalidToken, reason: "no"))
    bench.give(.appToken(.token(second), fetch: 2))
    bench.answer(2)
    bench.pass(30_000)
    let over = bench.receive(.push(.appCheckRevoked(.expiredToken, reason: "over")))
    #expect(over.appFetches == [true])
  }

  @Test("another connection shows the token that is there, and the next one when the app says so")
  func changes() {
    var bench = connected(with: first)
    bench.lose()
    let again = bench.pass(2_000)
    #expect(again.appFetches.isEmpty)
    #expect(again.connects.map(\.appToken) == [first.credential])
    #expect(bench.hello().requests.map(\.request) == [.appCheck("first")])
    #expect(bench.give(.refreshAppToken).appFetches == [false])
    let shown = bench.give(.appToken(.token(second), fetch: 2))
    #expect(shown.requests.map(\.request) == [.appCheck("second")])
    // The answer to the first one says nothing of the second.
    #expect(bench.answer(1, Response(.invalidToken, reason: "no")).appFetches.isEmpty)
    bench.give(.reasonBegan(.offline))
    #expect(bench.give(.refreshAppToken).appFetches.isEmpty)
    #expect(bench.give(.reasonEnded(.offline)).appFetches == [false])
  }

  @Test("another one is asked for while connecting too, and shown after the hello")
  func changesWhileConnecting() {
    for comesBeforeHello in [true, false] {
      var bench = Bench(usesAppCheck: true)
      bench.give(.reasonEnded(.starting))
      bench.give(.appToken(.token(first), fetch: 1))
      #expect(bench.give(.refreshAppToken).appFetches == [false])
      if comesBeforeHello {
        bench.give(.appToken(.token(second), fetch: 2))
        #expect(bench.hello().requests.map(\.request) == [.appCheck("second")])
      } else {
        #expect(bench.hello().requests.map(\.request) == [.appCheck("first")])
        let shown = bench.give(.appToken(.token(second), fetch: 2))
        #expect(shown.requests.map(\.request) == [.appCheck("second")])
      }
    }
  }

  @Test("a failure while connecting is tried again soon, though the old one lives for long")
  func failsWhileConnecting() {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    bench.give(.appToken(.token(Self.token("old", until: 3_600_000)), fetch: 1))
    bench.give(.refreshAppToken)
    bench.give(.appToken(.failed("no network"), fetch: 2))
    bench.hello()
    #expect(bench.pass(1_000).appFetches == [true])
  }

  @Test("a provider that tells of the one that it is forced to give is not forced once more")
  func toldByTheProvider() {
    var bench = connected(with: first)
    #expect(bench.answer(1, Response(.invalidToken, reason: "no")).appFetches == [true])
    #expect(bench.give(.refreshAppToken).appFetches.isEmpty)
    let shown = bench.give(.appToken(.token(second), fetch: 2))
    #expect(shown.requests.map(\.request) == [.appCheck("second")])
    // Without a connection, too.
    #expect(bench.answer(2, Response(.invalidToken, reason: "no")).appFetches.isEmpty)
    bench.give(.reasonBegan(.offline))
    #expect(bench.give(.reasonEnded(.offline)).appFetches == [true])
    #expect(bench.give(.refreshAppToken).appFetches.isEmpty)
    let third = Self.token("third")
    #expect(
      bench.give(.appToken(.token(third), fetch: 3)).connects.map(\.appToken) == [
        third.credential
      ])
  }

  @Test("the app's word that there is another one needs no force, also after refusals")
  func toldAfterRefusals() {
    var bench = connected(with: first)
    bench.answer(1, Response(.invalidToken, reason: "no"))
    bench.give(.appToken(.token(second), fetch: 2))
    bench.answer(2, Response(.invalidToken, reason: "no"))
    #expect(bench.give(.refreshAppToken).appFetches == [false])
    bench.give(.appToken(.token(second), fetch: 3))
    // What the provider is told late of is no reason to hurry.
    #expect(bench.answer(3, Response(.invalidToken, reason: "no")).appFetches.isEmpty)
    #expect(bench.pass(29_999).appFetches.isEmpty)
    #expect(bench.pass(1).appFetches == [true])
  }

  @Test("however often there is another one, a connection waits ten seconds at most")
  func changesForEver() {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    for _ in 0..<9 {
      #expect(bench.pass(1_000).connects.isEmpty)
      #expect(bench.give(.refreshAppToken).appFetches == [false])
    }
    #expect(bench.pass(999).connects.isEmpty)
    #expect(bench.pass(1).connects == [ConnectionRequest(namespace: "ns")])
  }

  @Test("an answer that does not come for five minutes is lost, and the provider is asked again")
  func lostAnswer() {
    var bench = Bench(usesAppCheck: true)
    bench.give(.reasonEnded(.starting))
    bench.pass(10_000)
    bench.hello()
    #expect(bench.pass(290_999).appFetches.isEmpty)
    #expect(bench.pass(1).appFetches == [false])
    #expect(bench.give(.appToken(.token(first), fetch: 1)).isEmpty)
    let shown = bench.give(.appToken(.token(second), fetch: 2))
    #expect(shown.requests.map(\.request) == [.appCheck("second")])
  }

  @Test("an answer that was lost offline is waited for no longer by the next connection")
  func lostOffline() {
    var bench = connected(with: first)
    bench.answer(1)
    bench.give(.refreshAppToken)
    bench.give(.reasonBegan(.offline))
    bench.give(.refreshAppToken)
    bench.pass(300_000)
    let back = bench.give(.reasonEnded(.offline))
    #expect(back.connects.isEmpty && back.appFetches == [false])
    #expect(bench.give(.appToken(.token(second), fetch: 4)).connects.count == 1)
  }

  @Test("the answer to an earlier question is out of date")
  func outOfDate() {
    var bench = connected(with: first)
    bench.answer(1)
    bench.give(.refreshAppToken)
    bench.give(.refreshAppToken)
    #expect(bench.give(.appToken(.token(second), fetch: 2)).isEmpty)
    let shown = bench.give(.appToken(.token(second), fetch: 3))
    #expect(shown.requests.map(\.request) == [.appCheck("second")])
  }

  @Test("no way of printing shows the token")
  func hidden() {
    var request = ConnectionRequest(namespace: "ns")
    request.appToken = first.credential
    var dumped = "\(request)"
    dump(request, to: &dumped)
    dump(first, to: &dumped)
    for text in ["\(first)", String(reflecting: first), dumped] { #expect(!text.contains("first")) }
  }
}
