import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Entries in two buffers against entries one by one.
@Suite struct EntryListTests {
  private typealias Random = Seeded

  private static func leaf(_ random: inout Random) -> Leaf {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: .bool(.random(using: &random))
    case 1: .integer(.random(in: -5...5, using: &random))
    case 2: .integer(.random(in: .min ... .max, using: &random))
    case 3: .double(.random(in: -1...1, using: &random))
    case 4: .serverValue(.timestamp)
    case 5: .serverValue(.increment(.integer(7)))
    case 6: .serverValue(.other(name: "später"))
    case 7: .string("")
    default: .string(String(repeating: "text é ", count: .random(in: 0...40, using: &random)))
    }
  }

  private static func entry(_ key: Bytes, _ random: inout Random) -> Entry {
    let priority = Bool.random(using: &random) ? nil : Priority(leaf(&random))
    return Entry(key: key, value: LeafCodec.encode(leaf(&random), priority))
  }

  /// Entries with keys that share beginnings, ascending.
  private static func entries(_ most: Int, _ random: inout Random) -> [Entry] {
    var keys: Set<Bytes> = []
    for _ in 0..<Int.random(in: 0...most, using: &random) {
      let parts = (0..<3).map { _ in UInt8.random(in: 0x40...0x44, using: &random) }
      keys.insert(Bytes(parts.flatMap { Bytes(repeating: $0, count: Int($0 & 7) * 3 + 1) }))
    }
    return keys.sorted(by: bytesPrecede).map { entry($0, &random) }
  }

  private static func list(_ entries: [Entry]) -> EntryList {
    var list = EntryList()
    for entry in entries { list.append(entry) }
    return list
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `Entries come back from a run's body`(seed: UInt64) throws {
    var random = Random(seed)
    let entries = Self.entries(60, &random)
    // Only a part goes into the body, so that offsets count.
    let low = Int.random(in: 0...entries.count, using: &random)
    let range = low..<Int.random(in: low...entries.count, using: &random)
    let (body, _) = RunBody.encode(Self.list(entries), range)
    let read = body.withUnsafeBytes { RunBody.decode($0, count: range.count) }
    #expect(Array(try #require(read)) == Array(entries[range]), "seed \(seed)")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `Changes laid over a list are those laid over its entries one by one`(seed: UInt64) {
    var random = Random(seed)
    var expected = Self.entries(60, &random)
    let list = Self.list(expected)
    var changes: [EntryChange] = []
    let others = Self.entries(60, &random)
    for _ in 0..<30 {
      guard
        let other = (Bool.random(using: &random) ? expected : others).randomElement(using: &random)
      else { continue }
      let index = expected.firstIndex { !bytesPrecede($0.key, other.key) } ?? expected.count
      let isThere = index < expected.count && expected[index].key == other.key
      if Bool.random(using: &random) {
        let entry = Self.entry(other.key, &random)
        changes.append(.put(entry))
        expected.replaceSubrange(index..<(isThere ? index + 1 : index), with: [entry])
      } else {
        changes.append(.delete(other.key))
        if isThere { expected.remove(at: index) }
      }
    }
    #expect(Array(list.merged(changes)) == expected, "seed \(seed)")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `Differences lead from one list to the other, and replacing too`(seed: UInt64) {
    var random = Random(seed)
    let old = Self.entries(40, &random)
    // Some entries stay, some get another value, some come and some go.
    var new: [Entry] = old.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
    for entry in Self.entries(20, &random) where !new.contains(where: { $0.key == entry.key }) {
      new.append(entry)
    }
    new.sort { bytesPrecede($0.key, $1.key) }
    let (from, to) = (Self.list(old), Self.list(new))
    var changes: [EntryChange] = []
    from.differences(0..<from.count, from: to, 0..<to.count) { gone, come in
      if let gone, let come { #expect(from.key(gone) == to.key(come)) }
      if let come {
        changes.append(.put(to[come]))
      } else if let gone {
        changes.append(.delete(from.key(gone)))
      }
    }
    #expect(Array(from.merged(changes)) == new, "seed \(seed)")
    let kept = Set(old.map(\.key)).intersection(new.map(\.key))
    let equal = kept.filter { key in
      old.first { $0.key == key } == new.first { $0.key == key }
    }
    let union = Set(old.map(\.key)).union(new.map(\.key))
    #expect(changes.count == union.count - equal.count, "seed \(seed)")

    let low = Int.random(in: 0...old.count, using: &random)
    let high = Int.random(in: low...old.count, using: &random)
    let part = Int.random(in: 0...new.count, using: &random)..<new.count
    var replaced = from
    replaced.replace(low..<high, with: to, part)
    var expected = old
    expected.replaceSubrange(low..<high, with: new[part])
    #expect(Array(replaced) == expected, "seed \(seed)")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `Entries that are put come where they belong, in the place of those with their keys`(
    seed: UInt64
  ) {
    var random = Random(seed)
    let old = Self.entries(40, &random)
    var new = Self.entries(20, &random)
    for entry in old where Int.random(in: 0..<3, using: &random) == 0 {
      if !new.contains(where: { $0.key == entry.key }) {
        new.append(Self.entry(entry.key, &random))
      }
    }
    new.sort { bytesPrecede($0.key, $1.key) }
    let first = Int.random(in: 0...new.count, using: &random)
    let part = first..<Int.random(in: first...new.count, using: &random)
    var list = Self.list(old)
    let other = Self.list(new)
    var places: [(at: Int, isThere: Bool)] = []
    var at = 0
    for index in part {
      at = list.lowerBound(of: other, index, from: at)
      let isThere = at < list.count && list.hasEqualKey(at, other, index)
      places.append((at, isThere))
      if isThere { at += 1 }
    }
    list.put(other, part, at: places)
    var expected = Dictionary(uniqueKeysWithValues: old.map { ($0.key, $0) })
    for entry in new[part] { expected[entry.key] = entry }
    #expect(
      Array(list) == expected.values.sorted { bytesPrecede($0.key, $1.key) }, "seed \(seed)")
  }

  @Test func `A body whose keys would fill the memory is damaged`() {
    // Entries that claim to add two thousand million bytes each.
    var lengths = ByteWriter()
    for _ in 0..<100_000 {
      lengths.varint(0)
      lengths.varint(Int(Int32.max))
    }
    var body = ByteWriter()
    for count in [lengths.count, 0, 0, 0, 0] { body.varint(count) }
    body.append(lengths.bytes)
    let read = body.bytes.withUnsafeBytes { RunBody.decode($0, count: 100_000) }
    #expect(read == nil)
  }
}
