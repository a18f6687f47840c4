/// A Bloom filter of the names of the documents that still match a target, which a server sends
/// with their count. Some other names seem to be in it too.
package struct BloomFilter: Sendable, Hashable {
  /// The bits, the lowest of each byte first.
  package let bitmap: [UInt8]
  private let bitCount: UInt64
  /// How many bits a name has.
  package let hashCount: Int
  /// How many bits at the end do not count.
  package var padding: Int { 8 * bitmap.count - Int(bitCount) }
  /// More hashes would make no filter better, and cost time for each document.
  private static let maxHashes = 100

  /// The filter of a server's message; nil when it is malformed or empty, and says nothing; with
  /// more than 100 hashes, too.
  ///
  /// - Parameters:
  ///   - bitmap: the bits, the lowest of each byte first.
  ///   - padding: how many bits at the end do not count, less than eight.
  ///   - hashCount: how many bits a name has.
  package init?(bitmap: [UInt8], padding: Int, hashCount: Int) {
    guard !bitmap.isEmpty, (0..<8).contains(padding),
      (1...Self.maxHashes).contains(hashCount)
    else { return nil }
    self.bitmap = bitmap
    self.hashCount = hashCount
    bitCount = UInt64(8 * bitmap.count - padding)
  }

  /// The filter of names, as a server makes it; nil when it has no bits or no hashes.
  ///
  /// - Parameters:
  ///   - names: the full names of documents.
  ///   - bitCount: how many bits the filter has.
  ///   - hashCount: how many bits a name has.
  package init?(of names: some Sequence<String>, bitCount: Int, hashCount: Int) {
    guard bitCount > 0, (1...Self.maxHashes).contains(hashCount) else { return nil }
    var bitmap = [UInt8](repeating: 0, count: (bitCount + 7) / 8)
    for name in names {
      for bit in Self.bits(of: name, hashCount, UInt64(bitCount)) {
        bitmap[Int(bit / 8)] |= 1 << UInt8(bit % 8)
      }
    }
    self.init(bitmap: bitmap, padding: 8 * bitmap.count - bitCount, hashCount: hashCount)
  }

  /// Whether a name may be among those that the filter was made of.
  package func mayContain(_ name: String) -> Bool {
    Self.bits(of: name, hashCount, bitCount).allSatisfy { bit in
      bitmap[Int(bit / 8)] >> UInt8(bit % 8) & 1 == 1
    }
  }

  private static func bits(
    of name: String, _ hashCount: Int, _ bitCount: UInt64
  ) -> some Sequence<UInt64> {
    let hash = MD5(name.utf8).words
    return (0..<UInt64(hashCount)).lazy.map { round in
      (hash.0 &+ round &* hash.1) % bitCount
    }
  }
}
