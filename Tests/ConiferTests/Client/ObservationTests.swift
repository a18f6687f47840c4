import ConiferSync
import ConiferTree
import Testing

@testable import Conifer

@Suite struct `Sequences` {
  let bench = ClientBench()
  var ref: DatabaseReference { bench.root.child("a") }

  func value(_ node: Node) -> DataEvent { DataEvent(.value, ref.target, node: node) }

  func added(_ key: Key, _ previous: Key? = nil) -> DataEvent {
    DataEvent(.childAdded, ref.target, key: key, node: 1, previousKey: previous)
  }

  @Test func `values come decoded, and nil where there is nothing`() async throws {
    var values = ref.values(as: [String: Int].self).makeAsyncIterator()
    let engine = try bench.engine
    engine.raise(value(.empty))
    #expect(try await values.next() == .some(nil))
    engine.raise(value(["x": 1]))
    #expect(try await values.next() == ["x": 1])
  }

  @Test func `a slow reader gets the newest value alone`() async throws {
    var snapshots = ref.snapshots.makeAsyncIterator()
    for number in 1...5 { try bench.engine.raise(value(Node(.integer(Int64(number))))) }
    await bench.waitUntilIdle()
    #expect(try await snapshots.next()?.value as? Int == 5)
  }

  @Test func `observing begins with the iterator and ends with it`() async throws {
    let values = ref.snapshots
    #expect(try bench.engine.recorded.listeners.isEmpty)
    do {
      var iterator = values.makeAsyncIterator()
      try bench.engine.raise(value(1))
      _ = try await iterator.next()
      #expect(try bench.engine.recorded.listeners.count == 1)
      #expect(try bench.engine.recorded.stopped.isEmpty)
    }
    #expect(try bench.engine.recorded.stopped == bench.engine.recorded.listeners.map(\.id))
  }

  @Test func `a loop that is left ends its observer`() async throws {
    let engine = try bench.engine
    let task = Task {
      for try await snapshot in ref.snapshots where snapshot.exists() { return true }
      return false
    }
    while engine.recorded.listeners.isEmpty { await Task.yield() }
    engine.raise(value(1))
    #expect(try await task.value)
    #expect(engine.recorded.stopped.count == 1)
  }

  @Test func `cancelling the task ends the sequence without an error`() async throws {
    let engine = try bench.engine
    let task = Task {
      var count = 0
      for try await _ in ref.childEvents() { count += 1 }
      return count
    }
    while engine.recorded.listeners.isEmpty { await Task.yield() }
    task.cancel()
    #expect(try await task.value == 0)
    #expect(engine.recorded.stopped.count == 1)
  }

  @Test func `a refusal is thrown once, then the sequence is at its end`() async throws {
    var values = ref.snapshots.makeAsyncIterator()
    try bench.engine.cancel(DatabaseError(.permissionDenied, "Not allowed."))
    let error = await #expect(throws: DatabaseError.self) { try await values.next() }
    #expect(error?.code == .permissionDenied)
    #expect(try await values.next() == nil)
  }

  @Test func `a query that is invalid throws`() async {
    var values = ref.queryLimited(toFirst: 0).snapshots.makeAsyncIterator()
    let error = await #expect(throws: DatabaseError.self) { try await values.next() }
    #expect(error?.code == .invalidQuery)
  }

  @Test func `a value that cannot be decoded throws`() async throws {
    var values = ref.values(as: Int.self).makeAsyncIterator()
    try bench.engine.raise(value("text"))
    let error = await #expect(throws: DatabaseError.self) { try await values.next() }
    #expect(error?.code == .coding)
    #expect(try await values.next() == nil)
  }

  @Test func `child events come all, in order, with their keys before`() async throws {
    var events = ref.childEvents().makeAsyncIterator()
    let engine = try bench.engine
    engine.raise(added("k1"))
    engine.raise(added("k2", "k1"))
    engine.raise(DataEvent(.childMoved, ref.target, key: "k1", node: 1, previousKey: "k2"))
    engine.raise(DataEvent(.childChanged, ref.target, key: "k1", node: 1, previousKey: "k2"))
    engine.raise(DataEvent(.childRemoved, ref.target, key: "k1", node: 1))
    await bench.waitUntilIdle()
    var words: [String] = []
    for _ in 0..<5 {
      guard let event = try await events.next() else { break }
      switch event {
      case .childAdded(let child, let key): words.append("added \(child.key) \(key ?? "-")")
      case .childChanged(let child, let key): words.append("changed \(child.key) \(key ?? "-")")
      case .childMoved(let child, let key): words.append("moved \(child.key) \(key ?? "-")")
      case .childRemoved(let child): words.append("removed \(child.key)")
      }
      let type = "\(event.type)".dropFirst("child".count).lowercased()
      let key = event.previousSiblingKey.map { " \($0)" } ?? (type == "removed" ? "" : " -")
      #expect(words.last == "\(type) \(event.snapshot.key)\(key)")
    }
    #expect(words == ["added k1 -", "added k2 k1", "moved k1 k2", "changed k1 k2", "removed k1"])
  }

  @Test func `batches hold all that has come`() async throws {
    var batches = ref.childEventBatches().makeAsyncIterator()
    for number in 0..<100 { try bench.engine.raise(added(Key(number))) }
    await bench.waitUntilIdle()
    let batch = try await batches.next()
    #expect(batch?.map(\.snapshot.key) == (0..<100).map(String.init))
  }

  @Test func `a reader that is too slow gets what was kept, then an error`() async throws {
    var batches = ref.childEventBatches(limit: 10).makeAsyncIterator()
    for number in 0..<11 { try bench.engine.raise(added(Key(number))) }
    await bench.waitUntilIdle()
    #expect(try await batches.next()?.count == 10)
    let error = await #expect(throws: DatabaseError.self) { try await batches.next() }
    #expect(error?.code == .overflow)
  }

  @Test func `states are told now and after each change`() async throws {
    let engine = try bench.engine
    #expect(!bench.database.isConnected)
    var states = bench.database.connectionStates.makeAsyncIterator()
    #expect(await states.next() == false)
    engine.isConnected.set(true)
    #expect(await states.next() == true)
    #expect(bench.database.isConnected)
    var auth = bench.database.authStates.makeAsyncIterator()
    #expect(await auth.next() == .signedOut)
    let expired = AuthState.expired(
      identity: "ada", DatabaseError(.expiredToken, "The token's time is over."))
    engine.authState.set(expired)
    #expect(await auth.next() == expired)
    #expect(bench.database.authState.isPaused)
    #expect(bench.database.authState.identity == "ada")
  }

  @Test func `a token is never in a description`() {
    let token = AuthToken("secret", identity: "ada")
    #expect(!"\(token)".contains("secret"))
    #expect(!String(reflecting: token).contains("secret"))
  }
}
