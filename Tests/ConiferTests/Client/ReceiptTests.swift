import ConiferKeyValue
import ConiferTree
import Foundation
import Testing

@testable import Conifer

@Suite struct `Receipts` {
  @Test func `each part comes when it is known`() async throws {
    let receipt = WriteReceipt()
    let id = WriteReceipt.ID(identity: "ada", number: 7)
    async let queued = receipt.id
    async let durable = receipt.durable
    async let outcome = receipt.outcome
    receipt.setID(id)
    #expect(try await queued == id)
    receipt.setDurable(.success(.process))
    #expect(try await durable == .process)
    receipt.end(.superseded(by: id))
    #expect(try await outcome == .superseded(by: id))
    #expect(try await receipt.id == id)
  }

  @Test func `only the first news of each counts`() async throws {
    let receipt = WriteReceipt()
    receipt.end(.acknowledged)
    receipt.end(.discarded)
    #expect(try await receipt.outcome == .acknowledged)
  }

  @Test func `many may wait`() async throws {
    let receipt = WriteReceipt()
    let outcomes = try await withThrowingTaskGroup { group in
      for _ in 0..<50 { group.addTask { try await receipt.outcome } }
      group.addTask {
        receipt.end(.acknowledged)
        return .acknowledged
      }
      return try await group.reduce(into: [WriteReceipt.Outcome]()) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: .acknowledged, count: 51))
  }

  @Test func `who waits can be cancelled, and the write goes on`() async throws {
    let receipt = WriteReceipt()
    let waiter = Task { await failure { _ = try await receipt.outcome } }
    waiter.cancel()
    #expect(await waiter.value?.code == .cancelled)
    receipt.end(.acknowledged)
    #expect(try await receipt.outcome == .acknowledged)
  }

  @Test func `a discarded write is no acknowledged one`() async {
    let receipt = WriteReceipt()
    receipt.end(.discarded)
    #expect(await failure { try await receipt.acknowledged() }?.code == .discarded)
  }

  @Test(arguments: ["", "ada", "a@b", "caf\u{E9}"])
  func `a name is kept as text`(identity: String) throws {
    let id = WriteReceipt.ID(identity: identity, number: 42)
    #expect(WriteReceipt.ID(id.description) == id)
    let json = try JSONEncoder().encode(id)
    #expect(try JSONDecoder().decode(WriteReceipt.ID.self, from: json) == id)
    #expect(WriteReceipt.ID("nonsense") == nil)
    #expect(WriteReceipt.ID("x@y") == nil)
  }

  @Test func `names are compared by bytes`() {
    let composed = WriteReceipt.ID(identity: "caf\u{E9}", number: 1)
    #expect(composed != WriteReceipt.ID(identity: "cafe\u{301}", number: 1))
  }
}

@Suite struct `The queue as an app sees it` {
  let bench = ClientBench()
  let reason = DatabaseError(.permissionDenied, "Not allowed.")

  func write(
    _ number: UInt64, _ path: Path,
    _ changes: [NodeChange], _ state: PendingWrite.State, kind: PendingWrite.Kind = .set
  ) -> PendingWrite {
    PendingWrite(
      id: .init(identity: "", number: number), kind: kind, path: path, changes: changes,
      state: state, attempts: 1, time: 0)
  }

  @Test func `waiting and refused writes are listed in windows`() async throws {
    let writes = (1...5).map { number in
      write(
        UInt64(number), "a", [NodeChange("a", 1)], number % 2 == 0 ? .rejected(reason) : .queued)
    }
    try bench.engine.set { $0.pending = writes }
    let database = bench.database
    #expect(try await database.pendingWrites().map(\.id.number) == [1, 2, 3, 4, 5])
    #expect(try await database.pendingWrites(limit: 2).map(\.id.number) == [1, 2])
    #expect(
      try await database.pendingWrites(after: writes[1].id, limit: 2).map(\.id.number) == [3, 4])
    #expect(try await database.rejectedWrites().map(\.id.number) == [2, 4])
    #expect(try await database.pendingWriteTotals().pending == 5)
  }

  @Test func `a write shows what it writes as the call took it`() {
    let set = write(1, "a", [NodeChange("a", ["b": 5])], .queued)
    #expect(set.value as? [String: Int] == ["b": 5])
    let update = write(
      2, "a", [NodeChange("a/b/c", 1), NodeChange("a/d", .empty)], .queued, kind: .update)
    let values = update.value as? [String: Any]
    #expect(values?["b/c"] as? Int == 1)
    #expect(values?["d"] is NSNull)
  }

  @Test func `a refused write is retried, discarded, or edited by the rules of its kind`()
    async throws
  {
    let set = write(1, "a/b", [NodeChange("a/b", 1)], .rejected(reason))
    let update = write(2, "a", [NodeChange("a/c", 1)], .rejected(reason), kind: .update)
    let priority = write(3, "a/.priority", [NodeChange("a/.priority", 1)], .rejected(reason))
    let waiting = write(4, "a", [NodeChange("a", 1)], .queued)
    try bench.engine.set { $0.pending = [set, update, priority, waiting] }
    let database = bench.database
    try await database.retry(set.id)
    try await database.discard(set.id)
    #expect(try bench.engine.recorded.calls == ["retry 1@", "discard 1@"])

    #expect(try await database.edit(set.id, to: 5).id?.number == 2)
    _ = try await database.edit(update.id, to: ["c": 2, "d": NSNull()] as [String: Any])
    _ = try await database.edit(priority.id, to: 9)
    let edits = try bench.engine.recorded.edits
    #expect(edits[0].1.asSet?.node == 5)
    #expect(edits[0].1.asSet?.path == "a/b")
    #expect(edits[1].1.asUpdate?.changes == [NodeChange("a/c", 2), NodeChange("a/d", .empty)])
    #expect(edits[2].1.asSet?.path == "a/.priority")
    #expect(
      await failure { _ = try await database.edit(set.id, to: Date()) }?.code == .invalidValue)
    #expect(await failure { _ = try await database.edit(update.id, to: 1) }?.code == .invalidUpdate)
    #expect(
      await failure { _ = try await database.edit(waiting.id, to: 1) }?.code == .unknownWrite)
  }
}
