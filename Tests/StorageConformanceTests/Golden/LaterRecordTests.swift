import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// What a later version wrote into a golden store is kept by this one, or the store is refused and
/// left as it is.
@Suite("Records and formats of later versions", .enabled(if: Codec.hasZstd))
struct LaterRecordTests {
  private struct Row: Equatable, CustomStringConvertible {
    var space: Space
    var key: Bytes
    var value: Bytes
    var description: String { "space \(space.id), key \(Damage.hex(key))" }
  }

  private func golden(_ kind: GoldenBackend) throws -> Scratch {
    let scratch = try Scratch()
    Files.write(Files.all(kind.files(1)), scratch.store)
    return scratch
  }

  private func apply(_ kind: GoldenBackend, _ path: String, _ rows: [Row]) throws {
    let store = try kind.store(path, small: true)
    var batch = Batch()
    for row in rows { batch.put(row.space, row.key, row.value) }
    _ = try store.apply(batch, .process)
    try store.close()
  }

  private func rows(_ kind: GoldenBackend, _ path: String) throws -> [Row] {
    let store = try kind.store(path)
    defer { try? store.close() }
    let view = try store.view()
    return try Spaces.all.flatMap { space in
      try view.entries(space, prefix: []).map { Row(space: space, key: $0.key, value: $0.value) }
    }
  }

  private func sealed(_ space: Space, _ key: Bytes, _ payload: Bytes) -> Row {
    Row(space: space, key: key, value: Record.seal(space, key, payload))
  }

  /// Records of kinds that format 1 does not know, in spaces that it knows and others.
  private var unknown: [Row] {
    let chat = StoreKey.prefix(TreeID(rawValue: 1))
    let docs = StoreKey.prefix(TreeID(rawValue: 3))
    let number = StoreKey.number(70)
    let later = [
      Space(id: 60, shape: .rows), Space(id: 61, shape: .blobs), Space(id: 62, shape: .fifo),
    ]
    var rows = later.flatMap { space in
      (0..<40).map { sealed(space, chat + key($0), Bytes(repeating: 3, count: 300)) }
    }
    rows += [
      sealed(Spaces.system, [0, 0, 0, 0, UInt8(ascii: "z")], [1]),
      sealed(Spaces.indexes, chat + [1, 2], [3]),
      sealed(Spaces.dictionaries, chat + [0, 0, 0, 60], [9, 1, 2, 3]),
      sealed(Spaces.queue, chat + Bytes("zoë".utf8) + [0, 1] + number, [0x7F, 1, 2, 3]),
      sealed(Spaces.finished, chat + Bytes("zoë".utf8) + [0] + number, [0x7F, 0]),
      sealed(Spaces.incidents, chat + number, [0x7F, 1, 65]),
      sealed(Spaces.runs, docs + [0xFE], [0x40, 0, 0, 0, 0, 0, 0, 0]),
    ]
    return rows
  }

  @Test(
    "Records of unknown kinds are kept by edits and housekeeping", arguments: GoldenBackend.allCases
  )
  func kept(_ kind: GoldenBackend) async throws {
    let scratch = try golden(kind)
    try apply(kind, scratch.store, unknown)
    let backend = try kind.open(scratch.store, small: true)
    let chat = TreeID(rawValue: 1)
    for round in 0..<120 {
      let text = String(repeating: "\(round * 7919) ", count: 60)
      try await backend.commit([
        .overwrite(chat, Path("rooms/r\(round % 9)/extra"), Node(.string(text))),
        .overwrite(chat, "rooms/r1/message1009/text", Node(.integer(Int64(round)))),
        .setMetadata(chat, "cursor", Bytes(repeating: UInt8(round), count: 2000)),
      ])
    }
    try await tidy(backend)
    let docs = TreeID(rawValue: 3)
    // Reading the later ends and writes is refused, never taken for damage.
    let lane = Lane(tree: chat, identity: "zoë")
    let later = WriteID(rawValue: 70)
    expectLater(backend) { (view) throws(StoreError) in _ = try view.write(lane, later) }
    expectLater(backend) { (view) throws(StoreError) in _ = try view.finishedWrite(lane, later) }
    expectLater(backend) { (view) throws(StoreError) in _ = try view.node(docs, .root, .all) }
    try await backend.close()
    let store = try kind.store(scratch.store)
    let view = try store.view()
    for row in unknown {
      #expect(try view.value(row.space, row.key) == row.value, "\(row)")
    }
    view.close()
    try store.close()
  }

  /// Housekeeping, which a run that this version cannot read stops with an error that says so.
  private func tidy(_ backend: any StorageBackend) async throws {
    for _ in 0..<200 {
      do throws(StoreError) {
        let isMore = try await backend.tidy(.milliseconds(50))
        if !isMore { return }
      } catch {
        try #require(error.code == .unsupported, "\(error)")
        return
      }
    }
  }

  private func expectLater(
    _ backend: any StorageBackend, _ body: (any StorageView) throws(StoreError) -> Void
  ) {
    let error = #expect(throws: StoreError.self) { try backend.read(body) }
    #expect([.unsupported, .newerFormat].contains(error?.code))
  }

  @Test(
    "Records of a newer format are refused, and no file changes", arguments: GoldenBackend.allCases)
  func newer(_ kind: GoldenBackend) async throws {
    let scratch = try golden(kind)
    let key: Bytes = [0, 0, 0, 0, UInt8(ascii: "f")]
    try apply(kind, scratch.store, [sealed(Spaces.system, key, [2])])
    try expectRefused(kind, scratch.store, .newerFormat)
  }

  @Test(
    "A store without Conifer's format is foreign, and no file changes",
    arguments: GoldenBackend.allCases)
  func foreign(_ kind: GoldenBackend) async throws {
    let scratch = try Scratch()
    try apply(kind, scratch.store, [Row(space: Spaces.metadata, key: [1], value: [2])])
    try expectRefused(kind, scratch.store, .foreign)
  }

  private func expectRefused(_ kind: GoldenBackend, _ path: String, _ code: StoreError.Code) throws
  {
    let rows = kind.opensUnchanged ? [] : try rows(kind, path)
    let before = Files.all(path).filter { !GoldenBackend.isPassing($0.name) }
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { _ = try kind.open(path) }
      #expect(error?.code == code)
    }
    guard kind.opensUnchanged else {
      #expect(try self.rows(kind, path) == rows)
      return
    }
    let after = Files.all(path).filter { !GoldenBackend.isPassing($0.name) }
    #expect(after.map(\.name) == before.map(\.name))
    for (a, b) in zip(after, before) { #expect(a.bytes == b.bytes, "\(a.name)") }
  }
}
