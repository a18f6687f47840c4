import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// Stores that earlier versions wrote are read for ever.
///
/// `CONIFER_GOLDEN=write` makes the stores of the newest format that are missing; what is there is
/// never written again.
@Suite("Golden stores", .enabled(if: Codec.hasZstd))
struct GoldenStoreTests {
  static let all = GoldenBackend.allCases.flatMap { kind in
    (1...GoldenBackend.format).map { (kind, $0) }
  }

  /// The largest store, in bytes of all its files.
  static let most = 250_000

  @Test(
    "A missing golden store is written when asked for",
    .enabled(if: Files.variable("CONIFER_GOLDEN") == "write"), arguments: GoldenBackend.allCases)
  func write(_ kind: GoldenBackend) async throws {
    let target = kind.files(GoldenBackend.format)
    try #require(Files.names(target).isEmpty, "\(target) is there and stays as it is")
    let scratch = try Scratch()
    let (files, manifest) = try await GoldenStory.make(kind, scratch.path)
    let size = files.reduce(0) { $0 + $1.bytes.count }
    try #require(
      size <= Self.most, "\(kind) takes \(size) bytes: \(files.map { ($0.name, $0.bytes.count) })")
    Files.write(files, target)
    Scratch.write(Bytes(manifest.utf8), kind.manifest(GoldenBackend.format))
  }

  /// A copy of a golden store, and what it must hold.
  private func copy(
    _ kind: GoldenBackend, _ format: Int
  ) throws -> (scratch: Scratch, manifest: String) {
    let files = Files.all(kind.files(format))
    try #require(!files.isEmpty, "there is no golden store in \(kind.files(format))")
    let scratch = try Scratch()
    Files.write(files, scratch.store)
    return (
      scratch, String(decoding: Scratch.read(kind.manifest(format)), as: UTF8.self)
    )
  }

  @Test("A golden store holds what it always held, and is written to", arguments: all)
  func opens(_ kind: GoldenBackend, _ format: Int) async throws {
    let (scratch, manifest) = try copy(kind, format)
    var backend = try kind.open(scratch.store)
    StateText.expectSame(try StateText.of(backend), manifest)
    let (trees, incidents) = try backend.read { (view) throws(StoreError) in
      (try view.trees(), try view.incidents().count)
    }
    #expect(trees.map(\.name) == ["chat", "docs", "ruined"])
    #expect(incidents == 3)
    // Numbers go on above those that were given.
    let chat = try #require(trees.first?.id)
    #expect(try await backend.tree(named: "new").rawValue == 5)
    let receipt = try await backend.commit([
      .enqueue(Lane(tree: chat, identity: "gone"), .set("x", 1)),
      .enqueue(Lane(tree: chat, identity: "zoë"), .set("x", 1)),
      .saveQuery(TrackedQuery(tree: chat, path: "rooms/r0", isComplete: true)),
      .overwrite(chat, "rooms/r1/message1008/text", "written by a later version"),
      .overwrite(chat, "rooms/r3", .empty),
    ])
    #expect(receipt.writes == [WriteID(rawValue: 3), WriteID(rawValue: 9)])
    #expect(receipt.queries == [QueryID(rawValue: 6)])
    let before = try StateText.of(backend)
    while try await backend.tidy(.seconds(1)) {}
    let root = try backend.read { (view) throws(StoreError) in try view.node(chat, .root) }
    try await backend.close()
    backend = try kind.open(scratch.store)
    #expect(try backend.read { (view) throws(StoreError) in try view.node(chat, .root) } == root)
    #expect(root[Path("rooms/r1/message1008/text")] == "written by a later version")
    // What is not cached is as it was before housekeeping.
    StateText.expectSame(
      StateText.withoutUsage(try StateText.of(backend)), StateText.withoutUsage(before))
    // Usage is what a scan finds.
    try await backend.close()
    try expectExactUsage(kind, scratch.store)
  }

  @Test("A golden store holds every kind of record", arguments: all)
  func isComplete(_ kind: GoldenBackend, _ format: Int) throws {
    let (scratch, manifest) = try copy(kind, format)
    let store = try kind.store(scratch.store)
    let view = try store.view()
    let ofDocuments = [
      Spaces.earlierOverlays, Spaces.overlays, Spaces.collections, Spaces.changes,
    ]
    for space in Spaces.all where !([Spaces.indexes] + ofDocuments).contains(space) {
      #expect(try view.entries(space, prefix: [], limit: 1).count == 1, "space \(space.id)")
    }
    let runs = try view.entries(Spaces.runs, prefix: []).compactMap {
      try? RunHead(storeKey: $0.key, value: $0.value)
    }
    #expect(runs.contains { $0.dictionary != 0 } && runs.contains { $0.dictionary == 0 })
    #expect(runs.contains { $0.flags & RunHead.hasLargeLeaves != 0 })
    let deltas = try view.entries(Spaces.deltas, prefix: []).compactMap {
      try? DeltaRecord.Head(key: $0.key, value: $0.value)
    }
    #expect(deltas.contains { $0.dictionary == 0 } && !deltas.isEmpty)
    if kind == .lmdb { #expect(runs.contains { $0.isCut }) }
    let words = [
      "\"queued\"", "\"sent\"", "\"outcome unknown\"", "\"rejected: ", ": acknowledged",
      ": discarded",
      ": superseded by 9",
    ]
    for word in words { #expect(manifest.contains(word), "\(word)") }
    view.close()
    try store.close()
  }

  private func expectExactUsage(_ kind: GoldenBackend, _ path: String) throws {
    let store = try kind.store(path)
    let view = try store.view()
    for info in try Trees.all(view) {
      let counted = try UsageRow.read(view, info.id)
      #expect(try Recount.whole(view, info.id).usage == counted.usage, "\(info.name)")
    }
    view.close()
    try store.close()
  }
}
