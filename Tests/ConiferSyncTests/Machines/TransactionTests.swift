import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Transaction machine")
struct TransactionTests {
  private func make(_ known: Node = .empty, isWritable: Bool = true) -> TransactionBench {
    var bench = TransactionBench()
    bench.known = known
    if isWritable { bench.give(.writable(true)) }
    return bench
  }

  @Test("runs over what is known, shows the result, sends it with the hash, and completes")
  func commits() throws {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    let id = bench.start(1, "a")
    #expect(bench.listens == [id])
    #expect(bench.runs.map(\.input) == [Node(4)])
    bench.runAll()
    #expect(bench["a"] == Node(5))
    let put = try bench.put()
    #expect(put.path == "a" && put.node == Node(5) && put.hash == NodeHash.hash(Node(4)))
    bench.give(.putAnswered(put.id, .ok))
    #expect(bench.outcomes[id] == .init(isCommitted: true, node: Node(5)))
    #expect(bench.listens.isEmpty && bench.overlays.isEmpty && bench.machine.isEmpty)
  }

  @Test("the app's function may give up")
  func aborts() {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    let id = bench.start(1, "a")
    bench.run { _ in .abort }
    #expect(bench.outcomes[id] == .init(isCommitted: false, node: Node(4)))
    #expect(bench.machine.isEmpty && bench.listens.isEmpty && bench.puts.isEmpty)
  }

  @Test("what changed while the function ran makes it run again")
  func changedMeanwhile() {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    bench.start(1, "a")
    bench.learn(Node(9), at: "a")
    #expect(bench.runs.count == 1)
    bench.run(TransactionBench.increment)
    #expect(bench.runs.map(\.input) == [Node(9)] && bench.puts.isEmpty)
    bench.runAll()
    #expect(bench["a"] == Node(10) && bench.puts.count == 1)
  }

  @Test("stale data makes it run again, without showing the old data in between")
  func stale() throws {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    let id = bench.start(1, "a")
    bench.runAll()
    let put = try bench.put()
    bench.learn(Node(8), at: "a")
    #expect(bench.runs.isEmpty)
    bench.give(.putAnswered(put.id, Response(.dataStale)))
    bench.runAll()
    #expect(!bench.shown.contains { $0[Path("a")] == Node(8) })
    let second = try bench.put()
    #expect(second.node == Node(9) && second.hash == NodeHash.hash(Node(8)))
    bench.give(.putAnswered(second.id, .ok))
    #expect(bench.outcomes[id]?.isCommitted == true)
  }

  @Test("gives up after 25 puts")
  func retries() {
    var bench = make()
    let id = bench.start(1, "a")
    var sent = 0
    for round in 1...30 {
      bench.runAll()
      guard let put = bench.takePut() else { break }
      sent += 1
      bench.learn(Node(.integer(Int64(round * 10))), at: "a")
      bench.give(.putAnswered(put.id, Response(.dataStale)))
    }
    #expect(sent == 25)
    #expect(bench.outcomes[id]?.error == .local(.maxRetries))
    #expect(bench["a"] == Node(250))
  }

  @Test("any other refusal ends it, and takes its write back")
  func refused() throws {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    let id = bench.start(1, "a")
    bench.runAll()
    let put = try bench.put()
    bench.give(.putAnswered(put.id, Response(.permissionDenied)))
    #expect(bench.outcomes[id]?.error == .refused(Response(.permissionDenied)))
    #expect(bench["a"] == Node(4))
  }

  @Test("transactions over one another run in order, and are sent as one put")
  func together() throws {
    var bench = make(
      Node(children: [(Key("a"), Node(children: [(Key("b"), Node(1)), (Key("c"), Node(1))]))]))
    bench.give(.writable(false))
    let deep = bench.start(1, "a/b")
    let high = bench.start(2, "a")
    bench.run(TransactionBench.increment)
    bench.run { node in .write(node.setting(Key("c"), to: node[Key("b")])) }
    let again = bench.start(3, "a/b")
    bench.runAll()
    #expect(bench.puts.isEmpty)
    bench.give(.writable(true))
    let put = try bench.put()
    #expect(put.path == "a")
    #expect(put.node == Node(children: [(Key("b"), Node(3)), (Key("c"), Node(2))]))
    #expect(put.hash == NodeHash.hash(bench.known[Path("a")]))
    bench.give(.putAnswered(put.id, .ok))
    #expect([deep, high, again].allSatisfy { bench.outcomes[$0]?.isCommitted == true })
    #expect(bench["a"] == Node(children: [(Key("b"), Node(3)), (Key("c"), Node(2))]))
  }

  @Test("a later transaction is built on one that is under way, and waits for it")
  func builtOnSent() throws {
    var bench = make(Node(children: [(Key("a"), Node(1))]))
    bench.start(1, "a")
    bench.runAll()
    let first = try bench.put()
    bench.start(2, "a")
    #expect(bench.runs.map(\.input) == [Node(2)])
    bench.runAll()
    #expect(bench.puts.isEmpty && bench["a"] == Node(3))
    // Other data changes: the later one runs again, and still over the one under way.
    bench.learn(Node(7), at: "a")
    #expect(bench.runs.isEmpty)
    bench.give(.putAnswered(first.id, Response(.dataStale)))
    bench.runAll()
    #expect(bench["a"] == Node(9))
    let last = try bench.put()
    #expect(last.node == Node(9))
  }

  @Test("when one gives up, what was built on it runs again")
  func builtOnAborted() {
    var bench = make(Node(children: [(Key("a"), Node(1))]), isWritable: false)
    bench.start(1, "a")
    bench.start(2, "a")
    bench.runAll()
    #expect(bench["a"] == Node(3))
    bench.learn(Node(5), at: "a")
    bench.run { _ in .abort }
    bench.runAll()
    #expect(bench["a"] == Node(6))
  }

  @Test("without local events its result stays hidden, also after a second run")
  func hidden() throws {
    var bench = make(Node(children: [(Key("a"), Node(1))]))
    bench.start(1, "a", isVisible: false)
    bench.runAll()
    #expect(bench["a"] == Node(1))
    let put = try bench.put()
    bench.learn(Node(3), at: "a")
    bench.give(.putAnswered(put.id, Response(.dataStale)))
    bench.runAll()
    #expect(bench["a"] == Node(3))
    // Another transaction sees it.
    bench.start(2, "a")
    #expect(bench.runs.map(\.input) == [Node(4)])
  }

  @Test("a set at, above or below ends it, unless it was sent and the server takes it")
  func overridden() throws {
    for path in ["a", "a/b", "a/b/c"] as [Path] {
      var unsent = make(isWritable: false)
      let first = unsent.start(1, "a/b")
      unsent.runAll()
      unsent.set(path, Node(100))
      #expect(unsent.outcomes[first]?.error == .local(.overriddenBySet))
      #expect(unsent[path] == Node(100))

      var sent = make()
      let second = sent.start(1, "a/b")
      sent.runAll()
      let put = try sent.put()
      sent.set(path, Node(100))
      #expect(sent.outcomes.isEmpty)
      sent.give(.putAnswered(put.id, .ok))
      #expect(sent.outcomes[second]?.isCommitted == true)

      var stale = make()
      let third = stale.start(1, "a/b")
      stale.runAll()
      let other = try stale.put()
      stale.set(path, Node(100))
      stale.give(.putAnswered(other.id, Response(.dataStale)))
      #expect(stale.outcomes[third]?.error == .local(.overriddenBySet))
    }
    var sibling = make(isWritable: false)
    sibling.start(1, "a/b")
    sibling.runAll()
    sibling.set("a/c", Node(100))
    #expect(sibling.outcomes.isEmpty)
  }

  @Test("a set while the function runs ends it; its late result is nobody's")
  func overriddenWhileRunning() {
    var bench = make()
    let id = bench.start(1, "a")
    bench.start(2, "b")
    bench.set("a", Node(100))
    #expect(bench.outcomes[id]?.error == .local(.overriddenBySet))
    #expect(bench.runs.count == 1)
    bench.run(TransactionBench.increment)
    #expect(bench["a"] == Node(100))
    // The next one's turn comes.
    #expect(bench.runs.count == 1)
  }

  @Test("offline: results show, run again over what changes, and are sent when it can be")
  func offline() throws {
    var bench = make(Node(children: [(Key("a"), Node(1))]), isWritable: false)
    let id = bench.start(1, "a")
    bench.runAll()
    #expect(bench["a"] == Node(2))
    bench.learn(Node(5), at: "a")
    bench.runAll()
    #expect(bench["a"] == Node(6) && bench.puts.isEmpty)
    bench.give(.writable(true))
    let put = try bench.put()
    #expect(put.hash == NodeHash.hash(Node(5)))
    // Not sent after all.
    bench.give(.writable(false))
    bench.give(.putReturned(put.id))
    #expect(bench.outcomes.isEmpty && bench.puts.isEmpty)
    bench.give(.writable(true))
    let second = try bench.put()
    bench.give(.putGivenUp(second.id, .disconnect))
    #expect(bench.outcomes[id]?.error == .local(.disconnect))
    #expect(bench["a"] == Node(5))
  }

  @Test("server values are shown resolved and sent as they are")
  func serverValues() throws {
    var bench = make(Node(children: [(Key("a"), Node(4))]))
    bench.start(1, "a")
    let raw = Node(.serverValue(.increment(3)))
    bench.run { _ in .write(raw) }
    #expect(bench["a"] == Node(7))
    let put = try bench.put()
    #expect(put.node == raw)
  }

  @Test("all that were tried too often end together")
  func exhaustedTogether() throws {
    var bench = make()
    let ids = (1...40).map { bench.start($0, "a") }
    for attempt in 1...25 {
      bench.runAll()
      let put = try bench.put()
      bench.known = Node(.integer(Int64(attempt * 1_000)))
      bench.give(.putAnswered(put.id, Response(.dataStale)))
    }
    bench.runAll()
    #expect(ids.allSatisfy { bench.outcomes[$0]?.error == .local(.maxRetries) })
    #expect(bench.machine.isEmpty && bench.deepest < 10)
  }

  @Test(
    "an answer before the news of it acknowledges a write whose data is missing",
    arguments: [true, false])
  func dataMissing(isDataMissing: Bool) throws {
    var bench = make()
    bench.start(1, "a")
    bench.runAll()
    let put = try bench.put()
    bench.give(.putAnswered(put.id, .ok, isDataMissing: isDataMissing))
    #expect(bench.withoutData.isEmpty != isDataMissing)
  }

  @Test("when the user changes, the outcome of what was sent is unknown")
  func identityChanged() throws {
    var bench = make()
    let ids = [bench.start(1, "a"), bench.start(2, "b")]
    bench.run(TransactionBench.increment)
    let put = try bench.put()
    bench.give(.giveUp(.identityChanged))
    #expect(bench.outcomes[ids[0]]?.error == .local(.disconnect))
    #expect(bench.outcomes[ids[1]]?.error == .local(.identityChanged))
    bench.give(.putAnswered(put.id, .ok))
    #expect(bench.view.isEmpty)
  }

  @Test("giving up ends all, and late answers and results are ignored")
  func givenUp() throws {
    var bench = make()
    let ids = [bench.start(1, "a"), bench.start(2, "b"), bench.start(3, "c")]
    bench.run(TransactionBench.increment)
    let put = try bench.put()
    bench.give(.giveUp(.writeCanceled))
    #expect(ids.allSatisfy { bench.outcomes[$0]?.error == .local(.writeCanceled) })
    #expect(bench.view.isEmpty && bench.listens.isEmpty)
    bench.give(.putAnswered(put.id, .ok))
    bench.runAll()
    #expect(bench.view.isEmpty && bench.machine.isEmpty)
  }
}
