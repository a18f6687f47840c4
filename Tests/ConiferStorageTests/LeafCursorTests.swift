import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// A cursor moves as over a sorted array, whatever runs and deltas its leaves lie in.
@Suite struct LeafCursorTests {
  private static let tree = TreeID(rawValue: 1)

  private static func key(_ number: Int) -> Bytes { Bytes("k\(1000 + number)".utf8) + [0] }

  /// A store of leaves in several runs, some with deltas, and the keys that it should hold.
  private static func store(_ random: inout Seeded) throws -> (LeafStore, [Bytes]) {
    let leaves = LeafStore(ProbeStore(bestValueSize: 1024), .none)
    var keys: Set<Bytes> = []
    for round in 0..<6 {
      let tx = try leaves.transaction()
      let editor = tx.editor(tree)
      for _ in 0..<(round == 0 ? 120 : 6) {
        let key = key(.random(in: 0..<300, using: &random))
        if round > 0, Bool.random(using: &random) {
          try editor.delete(key)
          keys.remove(key)
        } else {
          let text = String(repeating: "x", count: .random(in: 0...120, using: &random))
          try editor.put(Entry(key: key, value: LeafCodec.encode(.string(text), nil)))
          keys.insert(key)
        }
      }
      try tx.flush()
      try tx.writeUsage()
      _ = try leaves.apply(tx, tx.batch(), .relaxed)
    }
    return (leaves, keys.sorted(by: bytesPrecede))
  }

  /// Moves a cursor by chance, and compares where it is with an array of the range.
  private func compare(
    _ runs: some RunSource, _ keys: [Bytes], _ random: inout Seeded, _ seed: UInt64
  ) throws {
    for _ in 0..<20 {
      let (a, b) = (
        Self.key(.random(in: -5..<305, using: &random)),
        Self.key(.random(in: -5..<305, using: &random))
      )
      let (low, high) = bytesPrecede(a, b) ? (a, b) : (b, a)
      let expected = keys.filter { !bytesPrecede($0, low) && bytesPrecede($0, high) }
      var cursor = LeafCursor(runs, low, high)
      var at: Int?
      for _ in 0..<40 {
        let found: Bool
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          found = try cursor.first()
          at = expected.startIndex
        case 1:
          found = try cursor.last()
          at = expected.endIndex - 1
        case 2, 3:
          let target = Self.key(.random(in: 0..<300, using: &random))
          let key = bytesPrecede(target, low) ? low : target
          found = try cursor.seek(key)
          at = expected.firstIndex { !bytesPrecede($0, key) }
        case 4, 5:
          guard let here = at else { continue }
          found = try cursor.next()
          at = here + 1
        default:
          guard let here = at else { continue }
          found = try cursor.previous()
          at = here - 1
        }
        if let here = at, !expected.indices.contains(here) { at = nil }
        try #require(found == (at != nil), "seed \(seed)")
        if let at { try #require(cursor.key == expected[at], "seed \(seed)") }
      }
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `A cursor is where a sorted array has its key`(seed: UInt64) throws {
    var random = Seeded(state: seed)
    let (leaves, keys) = try Self.store(&random)
    let view = try leaves.openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: Self.tree)
    var runs = 0
    var place = try reader.place(after: nil)
    while let here = place {
      runs += 1
      place = try reader.place(after: here)
    }
    #expect(runs > 3, "seed \(seed)")
    try compare(reader, keys, &random, seed)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `A cursor over a commit in the making sees its edits`(seed: UInt64) throws {
    var random = Seeded(state: seed)
    let (leaves, stored) = try Self.store(&random)
    var keys = Set(stored)
    let tx = try leaves.transaction()
    let editor = tx.editor(Self.tree)
    for _ in 0..<30 {
      let key = Self.key(.random(in: -5..<300, using: &random))
      if Bool.random(using: &random) {
        try editor.delete(key)
        keys.remove(key)
      } else {
        try editor.put(Entry(key: key, value: LeafCodec.encode(.bool(true), nil)))
        keys.insert(key)
      }
      try compare(editor, keys.sorted(by: bytesPrecede), &random, seed)
    }
  }
}
