import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: gets, onDisconnects and puts")
struct OperationTests {
  private typealias Bench = ConnectionBench
  private let lane = ConnectionBench.nobody
  private let one = OperationID(rawValue: 1)
  private let two = OperationID(rawValue: 2)

  @Test("an onDisconnect reaches the server before a later write, also while a long queue drains")
  func order() {
    var bench = Bench(newest: 100)
    bench.give(.reasonEnded(.starting))
    bench.hello()
    let all = (1...101).map { Bench.write($0) }
    bench.give(.onDisconnect(one, .put("p", Node(false))))
    bench.give(.write(all[100]))
    bench.give(.onDisconnect(two, .cancel("q")))
    var requests = bench.give(.writes(Array(all[..<64]), lane, after: nil, isLast: false)).requests
    let next = WriteID(rawValue: 64)
    requests += bench.give(.writes(Array(all[64...]), lane, after: next, isLast: true)).requests
    for number in 1...103 { requests += bench.answer(UInt64(number)).requests }
    let expected =
      all[..<100].map(\.request) + [.onDisconnectPut("p", Node(false)), all[100].request]
      + [.onDisconnectCancel("q")]
    #expect(requests.map(\.request) == expected)
  }

  @Test("a get survives a disconnection, and is sent again in its old order")
  func getSurvives() {
    var bench = Bench()
    bench.connect()
    let target = Bench.listen("a").target
    bench.give(.get(one, target))
    bench.give(.onDisconnect(two, .cancel("x")))
    let lost = bench.lose()
    #expect(lost.contains(.onDisconnectGivenUp(two, .disconnect)))
    bench.give(.get(OperationID(rawValue: 3), Bench.listen("b").target))
    bench.pass(1_000)
    // Not behind the queue, of which nothing is known yet.
    let sent = bench.hello().requests
    #expect(sent.map(\.request) == [.get(target), .get(Bench.listen("b").target)])
    let found = Response(.ok, node: Node(7))
    #expect(bench.answer(1, found) == [.getAnswered(one, found)])
  }

  @Test("a get waits three seconds for a connection")
  func getTime() {
    var bench = Bench()
    bench.give(.get(one, Bench.listen("a").target))
    bench.pass(1_000)
    bench.give(.get(two, Bench.listen("b").target))
    #expect(bench.pass(1_999).isEmpty)
    #expect(bench.pass(1) == [.getUnavailable(one)])
    bench.connect()
    #expect(bench.pass(5_000).isEmpty)
    bench.lose()
    #expect(bench.pass(2_999).filter { $0 == .getUnavailable(two) }.isEmpty)
    #expect(bench.pass(1).contains(.getUnavailable(two)))
    bench.hello()
    #expect(bench.give(.writes([], lane, after: nil, isLast: true)).isEmpty)
  }

  @Test("a get with a time of its own waits that long for a connection, before and behind others")
  func getPatience() {
    var bench = Bench()
    let (target, three) = (Bench.listen("a").target, OperationID(rawValue: 3))
    bench.give(.get(one, target, patience: 5_000))
    bench.give(.get(two, target))
    bench.give(.get(three, target, patience: 1_000))
    #expect(bench.pass(1_000) == [.getUnavailable(three)])
    #expect(bench.pass(2_000) == [.getUnavailable(two)])
    #expect(bench.pass(1_999).isEmpty)
    #expect(bench.pass(1) == [.getUnavailable(one)])
  }

  @Test("an app that is offline waits for no get, whether it was sent or not")
  func getOffline() {
    for reason in [CloseReason.offline, .shutdown] {
      var bench = Bench()
      bench.connect()
      bench.give(.get(one, Bench.listen("a").target))
      let actions =
        reason == .offline ? bench.give(.reasonBegan(.offline)) : bench.receive(.shutdown("away"))
      #expect(actions.contains(.getUnavailable(one)))
      #expect(bench.give(.get(two, Bench.listen("b").target)) == [.getUnavailable(two)])
      bench.give(.reasonEnded(.offline))
      #expect(bench.hello().requests.isEmpty)
    }
  }

  @Test("a get goes before a queue that waits")
  func getBeforeQueue() {
    var bench = Bench(newest: 1_000)
    bench.give(.get(one, Bench.listen("a").target))
    bench.give(.reasonEnded(.starting))
    #expect(bench.hello().requests.map(\.request) == [.get(Bench.listen("a").target)])
    let page = (1...64).map { Bench.write($0) }
    #expect(bench.give(.writes(page, lane, after: nil, isLast: false)).puts.count == 64)
    // No write was answered, and no other may go.
    let sent = bench.give(.get(two, Bench.listen("b").target)).requests
    #expect(sent.map(\.request) == [.get(Bench.listen("b").target)])
  }

  @Test("a put that was sent ends with the connection, one that waits comes back")
  func puts() {
    var limits = ConnectionLimits()
    limits.window = 1
    var bench = Bench(limits: limits)
    bench.connect()
    let positions = (bench.machine.takePosition(), bench.machine.takePosition())
    bench.give(.put(TransactionPut(one, position: positions.0, "a", Node(1), hash: "h")))
    bench.give(.put(TransactionPut(two, position: positions.1, "b", Node(1), hash: "h")))
    let lost = bench.lose().filter { $0 != .log("The connection ended: lost") }
    #expect(
      lost == [
        .connected(false), .writable(false), .putReturned(two),
        .putGivenUp(one, .disconnect),
      ])
  }

  @Test("a put is issued at the position of its transaction, before later writes")
  func putPlace() {
    var bench = Bench(newest: 1)
    let position = bench.machine.takePosition()
    bench.give(.write(Bench.write(2)))
    bench.give(.reasonEnded(.starting))
    bench.hello()
    bench.give(.put(TransactionPut(one, position: position, "t", Node(1), hash: "h")))
    let page = [Bench.write(1), Bench.write(2)]
    #expect(bench.give(.writes(page, lane, after: nil, isLast: true)).puts == ["w/1", "t", "w/2"])
  }
}
