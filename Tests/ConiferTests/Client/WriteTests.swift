import ConiferKeyValue
import ConiferSync
import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer

@Suite struct `Writes through the API` {
  let bench = ClientBench()

  @Test func `a set hands over place and node, and calls back with the place`() async throws {
    let told = Gathered<String>()
    let ref = bench.root.child("users/u1")
    ref.setValue(["name": "ada"]) { (error: Error?, ref: DatabaseReference) in
      told.add("\(error == nil) \(ref.key ?? "")")
    }
    await bench.waitUntilIdle()
    let write = try #require(bench.engine.recorded.writes.first?.asSet)
    #expect(write.path == "users/u1")
    #expect(write.node == ["name": "ada"])
    #expect(told.all == ["true u1"])
  }

  @Test func `all forms of a set do what they say`() throws {
    let ref = bench.root.child("a")
    ref.setValue(1)
    ref.setValue(nil)
    ref.removeValue()
    ref.removeValue { _, _ in }
    ref.setValue(2, andPriority: "p")
    ref.setValue(3, andPriority: 4) { _, _ in }
    ref.setPriority(5)
    ref.setPriority(nil) { _, _ in }
    let writes = try bench.engine.recorded.writes.compactMap(\.asSet)
    #expect(
      writes.map(\.node) == [
        1, .empty, .empty, .empty, Node(2, priority: "p"), Node(3, priority: 4), 5, .empty,
      ])
    #expect(writes.map(\.path).prefix(6).allSatisfy { $0 == "a" })
    #expect(writes.map(\.path).suffix(2).allSatisfy { $0 == "a/.priority" })
  }

  @Test func `an update names several places at once, whatever slashes surround them`() throws {
    let post = ["uid": "u1", "title": "T"]
    let updates = ["/posts/k1": post, "/user-posts/u1/k1/": post]
    bench.root.updateChildValues(updates)
    let update = try #require(bench.engine.recorded.writes.first?.asUpdate)
    #expect(update.path == .root)
    #expect(update.changes.map(\.path) == ["posts/k1", "user-posts/u1/k1"])
    #expect(update.changes.allSatisfy { $0.node == ["uid": "u1", "title": "T"] })
  }

  @Test func `an update deletes, sets priorities and takes server values`() throws {
    bench.root.child("a").updateChildValues([
      "gone": NSNull(), "b/.priority": 3, "count": Conifer.ServerValue.increment(1),
    ])
    let update = try #require(bench.engine.recorded.writes.first?.asUpdate)
    #expect(update.path == "a")
    #expect(update.changes.map(\.path) == ["a/b/.priority", "a/count", "a/gone"])
    #expect(update.changes.map(\.node) == [3, Node(.serverValue(.increment(1))), .empty])
  }

  @Test func `a receipt may be ignored or followed`() async throws {
    let receipt = bench.root.child("a").enqueue(.set(1))
    let id = try #require(try await receipt.id)
    #expect(id.number == 1)
    #expect(try await receipt.durable == .power)
    #expect(try await receipt.outcome == .acknowledged)
    #expect(try await bench.database.outcome(of: id) == .acknowledged)
  }

  @Test func `the async forms return when the server has answered`() async throws {
    try await bench.root.child("a").setValue(1)
    try await bench.root.child("a").setValue(1, andPriority: 2)
    try await bench.root.child("a").updateChildValues(["b": 1, "c": NSNull()])
    try await bench.root.child("a").removeValue()
    try await bench.root.child("a").setPriority(7)
    let writes = try bench.engine.recorded.writes
    #expect(writes.count == 5)
    #expect(writes[2].asUpdate?.changes == [NodeChange("a/b", 1), NodeChange("a/c", .empty)])
  }

  @Test func `a refused write fails everywhere it is awaited`() async throws {
    let refusal = DatabaseError(.permissionDenied, "Not you.")
    try bench.engine.set { $0.error = refusal }
    let told = Gathered<DatabaseError?>()
    let receipt = bench.root.child("a").setValue(1) { error, _ in
      told.add(error as? DatabaseError)
    }
    #expect(try await receipt.outcome == .rejected(refusal))
    await bench.waitUntilIdle()
    #expect(told.all == [refusal])
    #expect(await failure { try await receipt.acknowledged() } == refusal)
    #expect(await failure { try await bench.root.child("a").setValue(1) } == refusal)
    #expect(refusal.localizedDescription.contains("Not you."))
    #expect(refusal.recoverySuggestion != nil)
  }

  @Test func `operations for the end of a connection are handed over`() async throws {
    let ref = bench.root.child("status")
    let told = Gathered<Bool>()
    func arrange() {
      ref.onDisconnectSetValue("gone")
      ref.onDisconnectSetValue(Conifer.ServerValue.timestamp()) { error, _ in
        told.add(error == nil)
      }
      ref.onDisconnectSetValue(1, andPriority: 2)
      ref.onDisconnectRemoveValue()
      ref.onDisconnectRemoveValue { error, reference in told.add(error == nil && reference == ref) }
      ref.onDisconnectUpdateChildValues(["a/b": 1])
      ref.cancelDisconnectOperations()
      ref.cancelDisconnectOperations { error, _ in told.add(error == nil) }
    }
    arrange()
    try await ref.onDisconnectSetValue(3)
    try await ref.onDisconnectUpdateChildValues(["c": NSNull()])
    try await ref.onDisconnectRemoveValue()
    try await ref.cancelDisconnectOperations()
    await bench.waitUntilIdle()
    #expect(told.all == [true, true, true])
    let words = try bench.engine.recorded.disconnects.map { operation in
      switch operation {
      case .put(let path, let node): "put \(path) \(node.debugDescription)"
      case .merge(let path, let changes):
        "merge \(path) " + changes.map { "\($0.path)=\($0.node.debugDescription)" }.joined()
      case .cancel(let path): "cancel \(path)"
      }
    }
    #expect(words.count == 12)
    #expect(words[0] == "put /status string(\"gone\")")
    #expect(words[3] == "put /status null")
    #expect(words[5] == "merge /status /a/b=integer(1)")
    #expect(words[6] == "cancel /status")
    #expect(words[9] == "merge /status /c=null")
  }

  @Test func `the connection and the queue are controlled`() async throws {
    bench.database.goOffline()
    bench.database.goOnline()
    bench.database.purgeOutstandingWrites()
    bench.database.tokenDidChange()
    await bench.database.close()
    #expect(try bench.engine.recorded.calls == ["offline", "online", "purge", "token", "close"])
  }
}
