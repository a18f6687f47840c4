import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct QueueTests {
  @Test func `A write that was sent more often than can be counted is sent again`() async throws {
    let backend = try StorageConfiguration.memory.open()
    let lane = Lane(tree: try await backend.tree(named: "main"))
    let id = WriteID(rawValue: 1)
    let write = QueuedWrite(id: id, content: .set("a", 1), attempts: .max)
    try await backend.commit([.restore(lane, write), .setState(lane, id, .sent)])
    let read = try backend.read { (view) throws(StoreError) in try view.write(lane, id) }
    #expect(read?.attempts == .max && read?.state == .sent)
  }

  /// What the record's reader lets pass, and the write's reader does not, would stop a queue.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `Bytes that are taken for a write can be read as one`(seed: UInt64) throws {
    var random = Seeded(seed)
    let node = Node(children: [
      (Key("name"), Node(.string("a longer text than fits"), priority: Priority(.integer(3)))),
      (
        Key("more"),
        Node(children: [(Key("x"), Node(.double(1.5)))], priority: Priority(.string("high")))
      ),
      (Key("at"), Node(.serverValue(.timestamp))),
      (Key("by"), Node(.serverValue(.increment(.integer(2))))),
    ])
    var content = WriteContent(
      kind: .update, path: "rooms/é", changes: [NodeChange("rooms/é/1", node), NodeChange("b", 5)])
    content.preconditions = [.init(path: "rooms", hash: "abcdefgh")]
    content.idempotencyID = [1, 2, 3]
    let bytes = content.payload.bytes
    #expect(WriteContent.payload(bytes).flatMap(WriteContent.init) == content)
    var accepted = 0
    for _ in 0..<20_000 {
      var forged = bytes
      for _ in 0...random.below(3) {
        forged[random.below(forged.count)] = UInt8(random.below(256))
      }
      guard let payload = WriteContent.payload(forged) else { continue }
      accepted += 1
      #expect(WriteContent(payload) != nil, "\(forged)")
    }
    #expect(accepted > 1000)
  }

  @Test func `A write of a later version is refused and stays`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let lane = Lane(tree: try await backend.tree(named: "main"))
    try await backend.commit([.enqueue(lane, .set("a", 1))])
    let key = try #require(try store.keys(Spaces.queue).first)
    let value = try #require(try store.view().value(Spaces.queue, key))
    var payload = try #require(Record.open(Spaces.queue, key, value))
    payload[0] = 3
    let newer = Record.seal(Spaces.queue, key, payload)
    var batch = Batch()
    batch.put(Spaces.queue, key, newer)
    _ = try store.apply(batch, .relaxed)
    let error = #expect(throws: StoreError.self) {
      try backend.read { (view) throws(StoreError) in try view.writes(lane, after: nil, limit: 9) }
    }
    #expect(error?.code == .newerFormat)
    #expect(try store.view().value(Spaces.queue, key) == newer)
  }

  /// In a log the traces of what was forgotten are walked over each time.
  @Test func `The oldest ends of writes are sought once a commit`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let lane = Lane(tree: try await backend.tree(named: "main"))
    for start in stride(from: 1, to: 1400, by: 100) {
      try await backend.commit((0..<100).map { _ in .enqueue(lane, .set("a", 1)) })
      let before = store.walks.withLock { $0[Spaces.finished.id] ?? 0 }
      try await backend.commit(
        (start..<start + 100).map {
          .finish(lane, WriteID(rawValue: UInt64($0)), .acknowledged)
        })
      let walks = store.walks.withLock { $0[Spaces.finished.id] ?? 0 } - before
      #expect(walks == (start > 1000 ? 1 : 0))
    }
    #expect(try store.base.keys(Spaces.finished).count == 1000)
  }

  @Test func `A lane remembers a thousand finished writes and every number`() async throws {
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let lane = Lane(tree: try await backend.tree(named: "main"), identity: "ann")
    var edits: [StorageEdit] = []
    for number in 1...1100 {
      edits.append(.enqueue(lane, .set("a", 1)))
      if number <= 1050 {
        edits.append(.finish(lane, WriteID(rawValue: UInt64(number)), .acknowledged))
      }
    }
    try await backend.commit(edits)
    #expect(try store.keys(Spaces.finished).count == 1000)
    try await backend.commit([.purge(lane)])
    #expect(try store.keys(Spaces.finished).count == 1000)
    let totals = try QueueReader(
      try store.view(), lane, .realtimeDatabase, Codec(level: 5)
    ).totals()
    #expect(totals.finished == 1000 && totals.newest == 1100 && totals.bytes == 0)
    let last = try backend.read { (view) throws(StoreError) in
      try view.finishedWrite(lane, WriteID(rawValue: 1100))
    }
    #expect(last?.outcome == .discarded)
    let receipt = try await backend.commit([.enqueue(lane, .set("a", 1))])
    #expect(receipt.writes == [WriteID(rawValue: 1101)])
  }
}
