import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: connecting")
struct ConnectingTests {
  @Test("connects at once, and tells of the server's hello")
  func connects() {
    var bench = ConnectionBench()
    #expect(bench.give(.tick).isEmpty)
    let first = bench.give(.reasonEnded(.starting))
    #expect(first == [.connect(ConnectionRequest(namespace: "ns"), bench.connection)])
    #expect(
      bench.hello() == [
        .offset(500), .connected(true), .writable(true),
        .needWrites(ConnectionBench.nobody, after: nil, limit: 64),
      ])
    #expect(bench.machine.isConnected && bench.machine.isWritable)
  }

  @Test("delays grow by 1.3 from one second to thirty, with a part left to chance")
  func delays() {
    var bench = ConnectionBench()
    bench.give(.reasonEnded(.starting))
    var expected = 1_000.0
    var seen: Set<Milliseconds> = []
    for attempt in 0..<30 {
      #expect(bench.lose().connects.isEmpty)
      let shortest = Milliseconds(expected * 0.3) - 1
      #expect(bench.pass(shortest).connects.isEmpty, "attempt \(attempt) came too early")
      let before = bench.uptime
      var waited: Milliseconds = 0
      while bench.pass(1).connects.isEmpty, waited < 40_000 { waited += 1 }
      #expect(Double(shortest + waited) <= expected + 1, "attempt \(attempt) came too late")
      seen.insert(bench.uptime - before)
      expected = min(30_000, expected * 1.3)
    }
    #expect(seen.count > 20)
  }

  @Test("a steady connection resets the delay", arguments: [(29_000, false), (31_000, true)])
  func steady(time: Milliseconds, isReset: Bool) {
    var bench = ConnectionBench()
    bench.connect()
    bench.pass(time)
    #expect(bench.lose().connects.isEmpty != isReset)
  }

  @Test("going online and a returned network connect at once")
  func hurries() {
    for input in [ConnectionInput.reasonEnded(.offline), .networkReturned] {
      var bench = ConnectionBench()
      bench.give(.reasonEnded(.starting))
      bench.lose()
      #expect(bench.give(input).connects.count == 1)
      #expect(bench.give(input).connects.isEmpty)
    }
  }

  @Test("going offline ends the connection, and nothing that it still brings counts")
  func offline() {
    var bench = ConnectionBench()
    bench.connect()
    let actions = bench.give(.reasonBegan(.offline))
    #expect(actions == [.disconnect(bench.connection), .connected(false), .writable(false)])
    #expect(bench.receive(.push(.overwrite("a", Node(1), tag: nil))).isEmpty)
    #expect(bench.lose().isEmpty)
    #expect(bench.pass(1_000_000).isEmpty)
    let old = bench.connection
    #expect(
      bench.give(.reasonEnded(.offline)).connects == [
        ConnectionRequest(namespace: "ns", host: "h", lastSession: "s")
      ])
    #expect(bench.connection > old)
    #expect(bench.give(.event(.closed("late"), old)).isEmpty)
    bench.hello()
    #expect(bench.give(.event(.closed("later"), old)).isEmpty)
    #expect(bench.machine.isConnected)
  }

  @Test("connects only when no reason is left to be away")
  func reasons() {
    var bench = ConnectionBench()
    bench.give(.reasonBegan(.noTransport))
    bench.give(.reasonBegan(.offline))
    #expect(bench.give(.reasonEnded(.starting)).isEmpty)
    #expect(bench.give(.reasonEnded(.noTransport)).isEmpty)
    #expect(bench.give(.networkReturned).isEmpty)
    #expect(bench.give(.reasonEnded(.offline)).connects.count == 1)
  }

  @Test("follows a redirection, and forgets a host that cannot be reached")
  func redirection() {
    var bench = ConnectionBench()
    bench.give(.reasonEnded(.starting))
    bench.hello(host: "one", session: "first")
    let actions = bench.receive(.reset(host: "two"))
    #expect(actions.first == .disconnect(ConnectionNumber(rawValue: 1)))
    #expect(
      actions.connects == [
        ConnectionRequest(namespace: "ns", host: "two", lastSession: "first")
      ])
    bench.lose()
    #expect(
      bench.pass(1_000).connects == [
        ConnectionRequest(namespace: "ns", host: nil, lastSession: "first")
      ])
  }

  @Test("a server that sends the client away is left alone until the app goes online")
  func shutdown() {
    var bench = ConnectionBench()
    bench.connect()
    let actions = bench.receive(.shutdown("full"))
    #expect(actions.contains(.shutDown("full")) && actions.contains(.connected(false)))
    #expect(bench.give(.networkReturned).isEmpty)
    #expect(bench.pass(1_000_000).isEmpty)
    #expect(bench.give(.reasonEnded(.offline)).connects.count == 1)
  }

  @Test("an attempt without a hello ends after thirty seconds")
  func attemptTime() {
    var bench = ConnectionBench()
    bench.give(.reasonEnded(.starting))
    #expect(bench.pass(29_999).isEmpty)
    let actions = bench.pass(1)
    #expect(actions.contains(.disconnect(ConnectionNumber(rawValue: 1))))
    #expect(actions.connects.isEmpty)
    #expect(bench.pass(1_000).connects.count == 1)
  }

  @Test("a sign of life goes out after 45 seconds of silence")
  func keepAlive() {
    var bench = ConnectionBench()
    bench.connect()
    #expect(bench.pass(44_999).isEmpty)
    #expect(bench.pass(1) == [.send(.keepAlive)])
    bench.pass(40_000)
    bench.give(.write(ConnectionBench.write(1)))
    bench.answer(1)
    #expect(bench.pass(44_000).isEmpty)
    #expect(bench.pass(1_000) == [.send(.keepAlive)])
  }

  /// What is waited for.
  static let requests: [ConnectionInput] = [
    .write(ConnectionBench.write(1)), .listen(ConnectionBench.listen("a")),
    .get(OperationID(rawValue: 1), ConnectionBench.listen("a").target),
  ]

  @Test("a connection whose server gives no sign of life is given up", arguments: 0..<3)
  func silence(request: Int) {
    var bench = ConnectionBench()
    bench.connect()
    bench.pass(20_000)
    bench.give(Self.requests[request])
    let first = bench.connection
    #expect(bench.pass(9_999).isEmpty)
    #expect(bench.pass(1) == [.probe(first)])
    // A quarter of a millisecond for each byte under way, at most.
    #expect(!bench.pass(14_999).contains(.disconnect(first)))
    let actions = bench.pass(101)
    #expect(actions.contains(.disconnect(first)))
    if request == 0 {
      #expect(actions.contains(.writeOutcomeUnknown(ConnectionBench.id(1))))
    }
    #expect(actions.connects.count == 1)
  }

  @Test("a server that lives may take its time for an answer", arguments: 0..<3)
  func slow(request: Int) {
    var bench = ConnectionBench()
    bench.connect()
    bench.give(Self.requests[request])
    let first = bench.connection
    var time: Milliseconds = 0
    // Each sign of life comes late, but comes.
    while time < 590_000 {
      let actions = bench.pass(10_000)
      #expect(actions.contains(.probe(first)))
      bench.pass(14_000)
      #expect(bench.receive(.pong).isEmpty)
      time += 24_000
    }
    #expect(bench.machine.isConnected)
    // A write is not waited for much longer, large data is.
    var isOver = false
    while time < 7_000_000, !isOver {
      isOver = bench.pass(10_000).contains(.disconnect(first))
      bench.receive(.pong)
      time += 10_000
    }
    #expect(isOver && (request == 0 ? time < 620_000 : time > 6_500_000), "\(time)")
  }

  @Test("a large write has its time to go out before the server is given up")
  func sending() {
    var bench = ConnectionBench()
    bench.connect()
    let text = Node(.string(String(repeating: "x", count: 400_000)))
    bench.give(.write(ConnectionBench.write(1, text)))
    #expect(!bench.pass(120_000).contains(.disconnect(bench.connection)))
    #expect(bench.pass(10_000).contains(.connected(false)))
  }

  @Test("where the transport cannot ask, a minute of silence ends it, and large data takes longer")
  func cannotAsk() {
    for request in [0, 1] {
      var bench = ConnectionBench()
      bench.connect()
      bench.give(Self.requests[request])
      let first = bench.connection
      #expect(bench.pass(10_000).contains(.probe(first)))
      #expect(bench.give(.cannotProbe(first)).isEmpty)
      let least: Milliseconds = request == 0 ? 50_000 : 650_000
      #expect(!bench.pass(least - 1).contains(.disconnect(first)))
      #expect(bench.pass(101).contains(.disconnect(first)))
    }
  }

  @Test("a connection on which nothing is due is not asked")
  func nothingDue() {
    var bench = ConnectionBench()
    bench.connect()
    bench.give(.write(ConnectionBench.write(1)))
    bench.answer(1)
    #expect(bench.pass(1_000_000).allSatisfy { $0 == .send(.keepAlive) })
  }

  @Test("a jump of the wall time moves no timer")
  func wallTime() {
    var bench = ConnectionBench()
    bench.connect()
    bench.skew = -1_000_000_000
    #expect(bench.pass(44_999).isEmpty)
    bench.skew = 1_000_000_000
    #expect(bench.pass(1) == [.send(.keepAlive)])
  }
}
