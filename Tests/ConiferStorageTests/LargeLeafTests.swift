import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Large leaves are told apart by what they hold, and not by a hash that can be met on purpose.
@Suite struct LargeLeafTests {
  /// Two texts whose encodings have the same XXH64 for a seed.
  ///
  /// XXH64 takes words of eight bytes into four lanes. A step can be undone, so another first word in a
  /// lane has a second word that makes up for it; some such words are ASCII.
  private func collision(seed: UInt64, _ random: inout Seeded) throws -> (String, String) {
    let (p1, p2): (UInt64, UInt64) = (0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F)
    var inverse = p2
    for _ in 0..<6 { inverse = inverse &* (2 &- p2 &* inverse) }
    #expect(inverse &* p2 == 1)
    let text = Bytes(repeating: UInt8(ascii: "a"), count: LargeLeaf.threshold + 1000)
    let encoded = LeafCodec.encode(.string(String(decoding: text, as: UTF8.self)), nil)
    func word(_ at: Int) -> UInt64 {
      encoded[at..<(at + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func step(_ lane: UInt64, _ word: UInt64) -> UInt64 {
      let sum = lane &+ word &* p2
      return (sum << 31 | sum >> 33) &* p1
    }
    let lane = step(seed &+ p1 &+ p2, word(0))
    let (first, second) = (word(32), word(64))
    while true {
      let other = random.next() & 0x7F7F_7F7F_7F7F_7F7F
      let makesUp = second &+ (step(lane, first) &- step(lane, other)) &* inverse
      guard other != first, makesUp & 0x8080_8080_8080_8080 == 0 else { continue }
      var changed = encoded
      for byte in 0..<8 {
        changed[32 + byte] = UInt8(truncatingIfNeeded: other >> UInt64(byte * 8))
        changed[64 + byte] = UInt8(truncatingIfNeeded: makesUp >> UInt64(byte * 8))
      }
      #expect(XXHash64.hash(changed, seed: seed) == XXHash64.hash(encoded, seed: seed))
      guard case .leaf(.string(let a), _) = try #require(LeafCodec.decode(encoded)),
        case .leaf(.string(let b), _) = try #require(LeafCodec.decode(changed))
      else { throw StoreError(.invalid, "no text") }
      return (a, b)
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `A large leaf is written over by another one of the same XXH64`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let store = MemoryStore()
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let path: Path = "rooms/text"
    let (a, b) = try collision(
      seed: XXHash64.hash(PathKey.encode(path, .realtimeDatabase)), &random)
    #expect(a != b)
    for text in [a, b, a] {
      try await backend.commit([.overwrite(tree, path, Node(.string(text)))])
      #expect(try backend.node(tree, path) == Node(.string(text)))
      #expect(try store.keys(Spaces.chunks).count == 2)
      #expect(try backend.verify().isSound)
    }
  }

  @Test func `An equal large leaf is not written again, whatever its priority`() async throws {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = try await backend.tree(named: "main")
    let text = Node(.string(String(repeating: "large ", count: 60_000)))
    try await backend.commit([.overwrite(tree, "a", text), .overwrite(tree, "b", text)])
    let parts = try store.base.keys(Spaces.chunks)
    #expect(parts.count == 4)
    let before = store.applied.withLock { $0.count }
    try await backend.commit([.overwrite(tree, "a", text)])
    #expect(store.applied.withLock { $0.count } == before)
    try await backend.commit([.overwrite(tree, "a/.priority", 5)])
    try await backend.commit([.overwrite(tree, "a", text.settingPriority(Priority(7)))])
    #expect(try store.base.keys(Spaces.chunks) == parts)
    #expect(try backend.verify().isSound)
  }

  @Test func `A leaf of a store of before, numbered by its hash, is kept and replaced`()
    async throws
  {
    let store = MemoryStore()
    let text = String(repeating: "large ", count: 60_000)
    let key = PathKey.encode("a", .realtimeDatabase)
    do {
      let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      let tree = try await backend.tree(named: "main")
      try await backend.commit([.overwrite(tree, "a", Node(.string(text)))])
    }
    let tree = TreeID(rawValue: 1)
    let content = LeafCodec.encode(.string(text), nil)
    let number = XXHash64.hash(content, seed: XXHash64.hash(key))
    let reopened = MemoryStore()
    var batch = Batch()
    for record in try DamageTests.records(store) {
      var (own, value) = (record.key, record.value)
      if record.space == Spaces.chunks {
        own = LargeLeaf.prefix(tree, number) + record.key.suffix(4)
        value = Record.seal(Spaces.chunks, own, Bytes(record.value.dropFirst(Record.overhead)))
      } else if record.space == Spaces.runs {
        var entries = EntryList()
        entries.append(
          Entry(
            key: key,
            value: LargeLeafReference(number: number, count: content.count, rest: []).value))
        let packed = RunHead.Packed(entries, 0..<1, Packing(Codec(level: 5)))
        value = RunHead(storeKey: own, fullSeparator: [], number: 1, packed).value
      }
      batch.put(record.space, own, value)
    }
    _ = try reopened.apply(batch, .relaxed)
    let backend = try MemoryBackend(reopened, name: "memory", options: StorageOptions())
    #expect(try backend.node(tree, "a") == Node(.string(text)))
    let parts = try reopened.keys(Spaces.chunks)
    try await backend.commit([.overwrite(tree, "a", Node(.string(text)))])
    #expect(try reopened.keys(Spaces.chunks) == parts)
    try await backend.commit([.overwrite(tree, "a", Node(.string(text + "!")))])
    #expect(try Set(reopened.keys(Spaces.chunks)).isDisjoint(with: parts))
    #expect(try backend.node(tree, "a") == Node(.string(text + "!")))
  }
}
