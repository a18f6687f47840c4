import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: another user signs in")
struct IdentityChangeTests {
  private typealias Bench = ConnectionBench
  private let ada = ConnectionBench.token("ada")
  private let bob = ConnectionBench.token("bob")
  private let lane = ConnectionBench.lane("ada")

  private func put(_ number: UInt64, _ bench: inout ConnectionBench) -> TransactionPut {
    let position = bench.machine.takePosition()
    return TransactionPut(
      OperationID(rawValue: number), position: position, Path("t/\(number)"), Node(1), hash: "h")
  }

  @Test("a transaction that an answer to the old user's lets go is not sent as the new one's")
  func heldPut() throws {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.listen(Bench.listen("a")))
    let first = put(1, &bench)
    bench.give(.put(first))
    #expect(bench.answer(3).isEmpty)
    let changed = bench.tell(.token(bob))
    let stopped = try #require(changed.firstIndex(of: .writable(false)))
    let answered = try #require(changed.firstIndex(of: .putAnswered(first.id, .ok)))
    #expect(stopped < answered)
    let second = put(2, &bench)
    #expect(bench.give(.put(second)) == [.putReturned(second.id)])
    bench.give(.laneOpened(newest: nil))
    bench.answer(changed.lastNumber)
    #expect(bench.give(.writes([], Bench.lane("bob"), after: nil, isLast: true)).puts.isEmpty)
  }

  @Test("an answer to the old user's write that comes before the news of its data is marked")
  func heldWrite() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.listen(Bench.listen("w")))
    bench.give(.write(Bench.write(1, in: lane)))
    #expect(bench.answer(3).isEmpty)
    let changed = bench.tell(.token(bob))
    #expect(changed.contains(.writeAnswered(Bench.id(1, in: lane), .ok, isDataMissing: true)))
  }

  @Test(
    "an onDisconnect of the old user that was refused for want of a token is given up",
    arguments: [Response.Status.expiredToken, .invalidToken])
  func refusedOnDisconnect(status: Response.Status) {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let id = OperationID(rawValue: 1)
    bench.give(.onDisconnect(id, .cancel("a")))
    let changed = bench.tell(.token(bob))
    bench.give(.laneOpened(newest: nil))
    #expect(
      bench.answer(2, Response(status)) == [
        .onDisconnectGivenUp(id, .identityChanged)
      ])
    bench.answer(changed.lastNumber)
    #expect(bench.give(.writes([], Bench.lane("bob"), after: nil, isLast: true)).requests.isEmpty)
  }

  @Test("a token that comes late does not bring back a user who has signed out")
  func overtaken() throws {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let slow = try #require(bench.give(.refreshToken).fetchNumbers.first)
    let quick = try #require(bench.give(.refreshToken).fetchNumbers.first)
    #expect(bench.give(.token(.signedOut, fetch: quick)).contains(.laneChanged(Bench.nobody)))
    bench.give(.laneOpened(newest: nil))
    #expect(bench.give(.token(.token(ada), fetch: slow)).isEmpty)
    #expect(bench.machine.lane == Bench.nobody)
    // What is told unasked is newer than what was asked before, too.
    let asked = try #require(bench.give(.refreshToken).fetchNumbers.first)
    bench.tell(.token(bob))
    #expect(bench.give(.token(.signedOut, fetch: asked)).isEmpty)
    #expect(bench.machine.lane == Bench.lane("bob"))
  }

  @Test("an answer that is late, but the newest, counts")
  func late() throws {
    var bench = Bench(lane: lane, usesTokens: true)
    let asked = try #require(bench.give(.reasonEnded(.starting)).fetchNumbers.first)
    bench.pass(30_000)
    #expect(bench.give(.token(.token(ada), fetch: asked)).connects.count == 1)
  }

  @Test("the old user's token is not kept, also offline")
  func forgotten() throws {
    var bench = Bench(lane: lane, usesTokens: true, token: ada)
    let changed = bench.tell(.token(bob))
    let forgotten = try #require(changed.firstIndex(of: .keepToken(nil)))
    let moved = try #require(changed.firstIndex(of: .laneChanged(Bench.lane("bob"))))
    #expect(forgotten < moved)
    #expect(!changed.contains(.keepToken(bob)))
    #expect(bench.tell(.signedOut).filter { $0 == .keepToken(nil) }.count == 1)
  }

  @Test("what is refused while a newer token is shown asks for no other token")
  func shownMeanwhile() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.write(Bench.write(1, in: lane)))
    let shown = bench.tell(.token(Bench.token("ada", "new")))
    let refused = bench.answer(2, Response(.expiredToken))
    #expect(refused.fetches.isEmpty && refused.contains(.writable(false)))
    #expect(bench.give(.write(Bench.write(2, in: lane))).isEmpty)
    #expect(bench.answer(shown.lastNumber).contains(.writable(true)))
    let page = [Bench.write(1, in: lane), Bench.write(2, in: lane)]
    #expect(bench.give(.writes(page, lane, after: nil, isLast: true)).puts == ["w/1", "w/2"])
  }

  @Test("a refused token is asked for by force also while the provider is being asked")
  func forcedMeanwhile() throws {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let plain = try #require(bench.give(.refreshToken).fetchNumbers.first)
    let refused = bench.receive(.push(.authRevoked(.expiredToken, reason: "old")))
    #expect(refused.fetches == [true])
    let forced = try #require(refused.fetchNumbers.first)
    // It may be the refused one.
    #expect(bench.give(.token(.token(ada), fetch: plain)).isEmpty)
    #expect(bench.machine.identification == .changing)
    let changed = bench.give(.token(.token(bob), fetch: forced))
    let moved = try #require(changed.firstIndex(of: .laneChanged(Bench.lane("bob"))))
    let known = try #require(changed.firstIndex(of: .identification(.known)))
    #expect(moved < known)
  }

  @Test("a sign-in while a token is asked for by force makes that answer out of date")
  func changedMeanwhile() throws {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    let refused = bench.receive(.push(.authRevoked(.expiredToken, reason: "old")))
    let forced = try #require(refused.fetchNumbers.first)
    let changed = bench.give(.refreshToken)
    #expect(changed.fetches == [true] && changed.contains(.identification(.changing)))
    let newest = try #require(changed.fetchNumbers.first)
    #expect(bench.give(.token(.token(Bench.token("ada", "new")), fetch: forced)).isEmpty)
    #expect(bench.give(.token(.failed("old"), fetch: forced)).isEmpty)
    #expect(bench.give(.token(.token(bob), fetch: newest)).contains(.identification(.known)))
    #expect(bench.machine.lane == Bench.lane("bob"))
  }

  @Test("who is signed in is asked for until the provider says it", arguments: [true, false])
  func unanswered(isOnline: Bool) throws {
    var bench = Bench(lane: lane, usesTokens: true, token: ada)
    if isOnline {
      bench.connect(as: ada)
    } else {
      bench.give(.reasonBegan(.offline))
      bench.give(.reasonEnded(.starting))
    }
    let first = try #require(bench.give(.refreshToken).fetchNumbers.first)
    let listen = Bench.listen("a")
    #expect(bench.give(.listen(listen)).listens.isEmpty)
    let failed = bench.give(.token(.failed("away"), fetch: first))
    guard case .unanswered("away", _) = bench.machine.identification else {
      Issue.record("it is taken for \(bench.machine.identification)")
      return
    }
    #expect(failed.contains(.identification(bench.machine.identification)))
    #expect(failed.last == .authentication(.blocked(.unavailable("away"))))
    // Reads go on as they were.
    #expect(failed.listens.map(\.listen) == (isOnline ? [listen] : []))
    let second = try #require(bench.pass(1_000).fetchNumbers.first)
    #expect(bench.pass(30_000).fetchNumbers.isEmpty)
    let third = try #require(bench.pass(2_000).fetchNumbers.first)
    #expect(bench.machine.identification != .changing)
    // It is late, and counts.
    let answered = bench.give(.token(.token(bob), fetch: second))
    #expect(answered.contains(.identification(.known)))
    bench.give(.laneOpened(newest: nil))
    #expect(bench.give(.token(.failed("late"), fetch: first)).isEmpty)
    bench.give(.token(.token(bob), fetch: third))
    #expect(bench.machine.lane == Bench.lane("bob"))
    #expect(bench.machine.identification == .known)
  }

  @Test(
    "a purge gives up the new user's writes; the old one's that were sent are of unknown outcome")
  func purged() {
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: ada)
    bench.give(.write(Bench.write(1, in: lane)))
    bench.tell(.token(bob))
    bench.give(.laneOpened(newest: nil))
    #expect(bench.give(.purge) == [.writeOutcomeUnknown(Bench.id(1, in: lane))])
    #expect(bench.answer(2).isEmpty)
  }
}
