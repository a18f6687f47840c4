import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: the outbound queue")
struct OutboundWriteTests {
  private typealias Bench = ConnectionBench
  private let lane = ConnectionBench.nobody

  @Test("at most 64 writes wait for answers, and the queue is read as they come")
  func window() {
    var bench = Bench(newest: 200)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    let all = (1...200).map { Bench.write($0) }
    var actions = bench.give(.writes(Array(all[..<64]), lane, after: nil, isLast: false))
    #expect(actions.puts.count == 64)
    #expect(actions.last == .needWrites(lane, after: WriteID(rawValue: 64), limit: 64))
    let next = WriteID(rawValue: 64)
    bench.give(.writes(Array(all[64..<128]), lane, after: next, isLast: false))
    var sent = 64
    for number in 1...200 {
      actions = bench.answer(UInt64(number))
      #expect(actions.contains(.writeAnswered(Bench.id(UInt64(number)), .ok)))
      sent += actions.puts.count
      #expect(sent - number <= 64)
      for case .needWrites(_, let after, let limit) in actions {
        let start = Int(after?.rawValue ?? 0)
        let page = Array(all[start..<min(200, start + limit)])
        sent +=
          bench.give(.writes(page, lane, after: after, isLast: start + limit >= 200)).puts.count
      }
    }
    #expect(sent == 200)
  }

  @Test("at most 1 MiB waits for answers; a larger write goes alone")
  func bytes() {
    var bench = Bench()
    bench.connect()
    let large = Node(.string(String(repeating: "x", count: 700_000)))
    let huge = Node(.string(String(repeating: "x", count: 2_000_000)))
    #expect(bench.give(.write(Bench.write(1, large))).puts.count == 1)
    #expect(bench.give(.write(Bench.write(2, large))).puts.isEmpty)
    #expect(bench.give(.write(Bench.write(3, huge))).puts.isEmpty)
    #expect(bench.answer(1).puts == ["w/2"])
    #expect(bench.answer(2).puts == ["w/3"])
  }

  @Test("what was sent and not answered is reported, and sent again first")
  func unknown() {
    var bench = Bench()
    bench.connect()
    let all = (1...3).map { Bench.write($0) }
    for write in all[..<2] { bench.give(.write(write)) }
    bench.answer(1)
    #expect(bench.lose().contains(.writeOutcomeUnknown(all[1].id)))
    bench.give(.write(all[2]))
    bench.pass(1_000)
    bench.hello()
    #expect(
      bench.give(.writes([all[1], all[2]], lane, after: nil, isLast: true)).puts == ["w/2", "w/3"])
  }

  @Test("a write is answered once, and not sent again while its answer waits for a listen")
  func answered() {
    let lane = Bench.lane("ada")
    var bench = Bench(lane: lane, usesTokens: true)
    bench.connect(as: Bench.token("ada"))
    bench.give(.write(Bench.write(1, in: lane)))
    bench.give(.write(Bench.write(2, in: lane)))
    bench.give(.listen(Bench.listen("a")))
    #expect(bench.answer(2).isEmpty && bench.answer(2).isEmpty)
    #expect(bench.machine.isAnswerDeferred(Bench.id(1, in: lane)))
    // The queue is read from its beginning again when the server takes another token.
    bench.receive(.push(.authRevoked(.expiredToken, reason: "old")))
    let shown = bench.tell(.token(Bench.token("ada", "new")))
    #expect(bench.answer(shown.lastNumber).contains(.needWrites(lane, after: nil, limit: 64)))
    let page = (1...3).map { Bench.write($0, in: lane) }
    #expect(bench.give(.writes(page, lane, after: nil, isLast: true)).puts == ["w/3"])
    #expect(bench.answer(4).contains(.writeAnswered(Bench.id(1, in: lane), .ok)))
    #expect(!bench.machine.isAnswerDeferred(Bench.id(1, in: lane)))
  }

  @Test("an increment leaves after the store holds that it was sent, and nothing overtakes it")
  func marks() {
    var bench = Bench()
    bench.connect()
    let first = bench.give(.write(Bench.increment(1)))
    #expect(first == [.markSent([Bench.id(1)])])
    #expect(bench.give(.write(Bench.write(2))).isEmpty)
    #expect(bench.give(.write(Bench.increment(3))) == [.markSent([Bench.id(3)])])
    #expect(bench.give(.marked([Bench.id(1)])).puts == ["w/1", "w/2"])
    bench.give(.marked([Bench.id(3)]))
    bench.lose()
    bench.pass(1_000)
    bench.hello()
    // Marked before: it leaves at once.
    let page = [Bench.increment(1, state: .sent), Bench.increment(3, state: .outcomeUnknown)]
    #expect(bench.give(.writes(page, lane, after: nil, isLast: true)).puts == ["w/1", "w/3"])
  }

  @Test("a rejected write that is tried again goes next")
  func retried() {
    var bench = Bench()
    bench.connect()
    for number in 1...3 { bench.give(.write(Bench.write(UInt64(number)))) }
    let refusal = Response(.permissionDenied)
    #expect(bench.answer(1, refusal) == [.writeAnswered(Bench.id(1), refusal)])
    #expect(bench.give(.write(Bench.write(1))).puts == ["w/1"])
    #expect(bench.give(.write(Bench.write(1))).puts.isEmpty)
  }

  @Test("a withdrawn write is not sent, and what waited behind it is")
  func withdrawn() {
    var bench = Bench()
    bench.connect()
    bench.give(.write(Bench.increment(1)))
    bench.give(.write(Bench.write(2)))
    #expect(bench.give(.withdraw(Bench.id(1))).puts == ["w/2"])
    #expect(bench.give(.marked([Bench.id(1)])).isEmpty)
  }

  @Test("purging ends all that waits, and late answers are ignored")
  func purged() {
    var bench = Bench()
    bench.give(.listen(Bench.listen("a")))
    bench.connect()
    bench.give(.write(Bench.write(1)))
    bench.give(.write(Bench.write(2)))
    bench.answer(2)
    let put = TransactionPut(
      OperationID(rawValue: 5), position: bench.machine.takePosition(), "t", Node(1), hash: "")
    bench.give(.put(put))
    bench.give(.write(Bench.increment(3)))
    bench.give(.onDisconnect(OperationID(rawValue: 6), .put("p", Node(1))))
    #expect(bench.give(.deliverAnswers) == [.writeAnswered(Bench.id(1), .ok)])
    #expect(
      bench.give(.purge) == [
        .putGivenUp(put.id, .writeCanceled),
        .onDisconnectGivenUp(OperationID(rawValue: 6), .writeCanceled),
      ])
    #expect(bench.answer(3).isEmpty)
    #expect(bench.answer(4).isEmpty)
    #expect(bench.give(.write(Bench.write(4))).puts == ["w/4"])
  }

  @Test("what is queued behind a purge goes at once, also while the queue is read")
  func purgedWhileReading() {
    var bench = Bench(newest: 1)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    bench.give(.purge)
    #expect(bench.give(.writes([Bench.write(1)], lane, after: nil, isLast: true)).isEmpty)
    #expect(bench.give(.write(Bench.write(2))).puts == ["w/2"])
  }

  @Test("the answer to a question from before the connection broke is ignored")
  func oldPage() {
    var bench = Bench(newest: 200)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    bench.give(.writes((1...64).map { Bench.write($0) }, lane, after: nil, isLast: false))
    bench.lose()
    bench.pass(1_000)
    bench.hello()
    let late = (65...128).map { Bench.write($0) }
    #expect(bench.give(.writes(late, lane, after: WriteID(rawValue: 64), isLast: true)).isEmpty)
    let first = (1...64).map { Bench.write($0) }
    #expect(bench.give(.writes(first, lane, after: nil, isLast: false)).puts.first == "w/1")
  }

  @Test(
    "a queue that cannot be read is asked for again with the next write, which does not overtake")
  func unreadable() {
    var bench = Bench(newest: 1)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    #expect(bench.give(.writes([], lane, after: nil, isLast: false)).isEmpty)
    #expect(bench.give(.tick).isEmpty)
    #expect(bench.give(.write(Bench.write(2))) == [.needWrites(lane, after: nil, limit: 64)])
    let both = [Bench.write(1), Bench.write(2)]
    #expect(bench.give(.writes(both, lane, after: nil, isLast: true)).puts == ["w/1", "w/2"])
  }

  @Test("a write that is queued while the queue is read is not lost")
  func missed() {
    var bench = Bench(newest: 1)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    #expect(bench.give(.write(Bench.write(2))).isEmpty)
    // The store was read before write 2 was there.
    let actions = bench.give(.writes([Bench.write(1)], lane, after: nil, isLast: true))
    #expect(actions.puts == ["w/1"])
    #expect(actions.last == .needWrites(lane, after: WriteID(rawValue: 1), limit: 64))
    #expect(
      bench.give(.writes([Bench.write(2)], lane, after: WriteID(rawValue: 1), isLast: true)).puts
        == ["w/2"])
  }

  @Test("requests: a set is a put, an update a merge, with relative paths")
  func requests() {
    let changes = [NodeChange("a/b", Node(1)), NodeChange("a/c/d", .empty)]
    let update = WriteContent(kind: .update, path: "a", changes: changes)
    #expect(
      Request(update)
        == .merge("a", [NodeChange("b", Node(1)), NodeChange("c/d", .empty)]))
    #expect(
      Request(.set("a/.priority", Node(3)))
        == .put("a/.priority", Node(3), hash: nil))
    let condition = WriteContent.Precondition(path: "a", hash: "h")
    let transaction = WriteContent(
      kind: .transaction, path: "a", changes: [NodeChange("a", Node(2))],
      preconditions: [condition])
    #expect(Request(transaction) == .put("a", Node(2), hash: "h"))
  }

  @Test("what is idempotent, and what a later write replaces")
  func rules() {
    let increment = Node(.serverValue(.increment(2)))
    let timestamp = Node(.serverValue(.timestamp))
    let deep = Node(children: [
      (Key("x"), Node(children: [(Key("y"), increment)])), (Key("z"), timestamp),
    ])
    #expect(!WriteContent.set("a", deep).isIdempotent)
    #expect(
      !WriteContent.set("a", Node(1, priority: Priority(.serverValue(.increment(1))))).isIdempotent)
    #expect(WriteContent.set("a", timestamp).isIdempotent)
    let old = WriteContent.set("a/b", Node(1))
    #expect(WriteContent.set("a/b", Node(2)).supersedes(old))
    #expect(WriteContent.set("a", timestamp).supersedes(old))
    #expect(!WriteContent.set("a/b/c", Node(2)).supersedes(old))
    #expect(!WriteContent.set("a/b/.priority", Node(2)).supersedes(old))
    #expect(!WriteContent.set("a/b", increment).supersedes(old))
    #expect(!WriteContent.set("a/b", .empty).supersedes(old))
    #expect(
      !WriteContent(kind: .update, path: "a", changes: [NodeChange("a/b", Node(2))])
        .supersedes(old))
  }
}
