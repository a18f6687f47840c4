/// The names of the documents that still match a target, as a server sends them with a count: a few of
/// the others seem to be among them, too.
package struct BloomFilter: Sendable, Hashable {
  private let bitmap: [UInt8]
  private let bitCount: UInt64
  private let hashCount: Int

  /// The filter of a server's message; nil when it is malformed or empty, and says nothing.
  ///
  /// - Parameters:
  ///   - bitmap: the bits, the lowest of each byte first.
  ///   - padding: how many bits at the end do not count, less than eight.
  ///   - hashCount: how many bits a name has.
  package init?(bitmap: [UInt8], padding: Int, hashCount: Int) {
    guard !bitmap.isEmpty, (0..<8).contains(padding), hashCount > 0 else { return nil }
    self.bitmap = bitmap
    self.hashCount = hashCount
    bitCount = UInt64(8 * bitmap.count - padding)
  }

  /// Whether a name may be among those that the filter was made of.
  func mayContain(_ name: String) -> Bool {
    let hash = MD5(name.utf8).words
    return (0..<UInt64(hashCount)).allSatisfy { round in
      let bit = (hash.0 &+ round &* hash.1) % bitCount
      return bitmap[Int(bit / 8)] >> UInt8(bit % 8) & 1 == 1
    }
  }
}
