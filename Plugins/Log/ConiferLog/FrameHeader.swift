import ConiferKeyValue
import ConiferStorage

/// The first 48 bytes of a frame.
struct FrameHeader {
  static let size = 48
  private static let magic: UInt32 = 0x6D72_4643

  var editsLength: UInt32
  var valuesLength: UInt32
  /// The end of the segment's synced bytes when the frame was written.
  var syncedEnd: UInt32
  var sequence: UInt64
  /// The checksum of the frame before.
  var previous: UInt64
  var salt: UInt32
  var editsSum: UInt32
  /// The header's own checksum, by which the next frame names this one.
  private(set) var sum: UInt64 = 0

  /// The length of the whole frame: a multiple of 8.
  var total: Int { Self.total(edits: Int(editsLength), values: Int(valuesLength)) }

  static func total(edits: Int, values: Int) -> Int { (size + edits + values + 7) & ~7 }

  /// The values that bind a header to its place.
  static func seed(_ store: Bytes, _ segment: UInt64, _ offset: Int) -> UInt64 {
    var place = ByteWriter(store)
    place.littleEndian(segment)
    place.littleEndian(UInt64(offset))
    return XXHash64.hash(place.bytes)
  }

  /// Writes the header over the first bytes of its frame.
  mutating func write(_ frame: inout Bytes, seed: UInt64) {
    let (words, tail) = (
      [Self.magic, editsLength, valuesLength, syncedEnd], [salt, editsSum]
    )
    let (sequence, previous) = (sequence, previous)
    sum = frame.withUnsafeMutableBytes { frame in
      for (i, word) in words.enumerated() {
        frame.storeBytes(of: word.littleEndian, toByteOffset: i * 4, as: UInt32.self)
      }
      frame.storeBytes(of: sequence.littleEndian, toByteOffset: 16, as: UInt64.self)
      frame.storeBytes(of: previous.littleEndian, toByteOffset: 24, as: UInt64.self)
      for (i, word) in tail.enumerated() {
        frame.storeBytes(of: word.littleEndian, toByteOffset: 32 + i * 4, as: UInt32.self)
      }
      let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: frame[..<40]), seed: seed)
      frame.storeBytes(of: sum.littleEndian, toByteOffset: 40, as: UInt64.self)
      return sum
    }
  }

  /// Whether the bytes begin with the magic of a frame's header.
  static func isLikely(_ bytes: UnsafeRawBufferPointer, at: Int) -> Bool {
    at + size <= bytes.count
      && bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self) == magic.littleEndian
  }

  /// Reads a header; nil when it is not sound or the frame does not fit the bytes.
  init?(_ bytes: UnsafeRawBufferPointer, at: Int, seed: @autoclosure () -> UInt64) {
    guard Self.isLikely(bytes, at: at) else { return nil }
    func word(_ i: Int) -> UInt32 {
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at + i, as: UInt32.self))
    }
    func long(_ i: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at + i, as: UInt64.self))
    }
    self.init(
      editsLength: word(4), valuesLength: word(8), syncedEnd: word(12), sequence: long(16),
      previous: long(24), salt: word(32), editsSum: word(36))
    sum = long(40)
    let own = UnsafeRawBufferPointer(rebasing: bytes[at..<(at + 40)])
    guard sum == XXHash64.hash(own, seed: seed()), total <= bytes.count - at else { return nil }
  }

  init(
    editsLength: UInt32, valuesLength: UInt32, syncedEnd: UInt32, sequence: UInt64,
    previous: UInt64, salt: UInt32, editsSum: UInt32
  ) {
    self.editsLength = editsLength
    self.valuesLength = valuesLength
    self.syncedEnd = syncedEnd
    self.sequence = sequence
    self.previous = previous
    self.salt = salt
    self.editsSum = editsSum
  }
}
