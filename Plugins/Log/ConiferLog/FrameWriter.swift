import ConiferKeyValue
import ConiferStorage

/// Puts edits into one frame.
struct FrameWriter {
  /// The largest frame: offsets and lengths have 32 bits, and system calls take no more at once.
  static let limit = 1 << 31 - 1

  private var edits = ByteWriter()
  private var values: [Bytes] = []
  private var valuesLength = 0

  /// The length of the frame.
  var total: Int { FrameHeader.total(edits: edits.count, values: valuesLength) }

  /// The offset of the values from the frame's start.
  var valuesStart: Int { FrameHeader.size + edits.count }

  /// Adds a put; gives a pointer whose offset counts from the frame's first value.
  ///
  /// - Throws: `tooLarge`.
  mutating func put(
    _ space: Space, _ key: Bytes, _ value: Bytes
  ) throws(StoreError) -> Slot {
    if value.count <= Slot.smallLimit {
      begin(1, space, key)
      edits.sized(value)
      try check()
      return .small(value)
    }
    let sum = value.withUnsafeBytes { XXHash64.short($0) }
    return .value(
      try copy(
        space, key, value, sum))
  }

  /// Adds a put of a longer value whose checksum is known.
  ///
  /// - Throws: `tooLarge`.
  mutating func copy(
    _ space: Space, _ key: Bytes, _ value: Bytes, _ sum: UInt32
  ) throws(StoreError) -> Pointer {
    begin(2, space, key)
    edits.varint(value.count)
    edits.littleEndian(UInt64(sum), bytes: 4)
    let offset = valuesLength
    values.append(value)
    valuesLength += value.count
    try check()
    return Pointer(
      segment: 0, offset: UInt32(offset), length: UInt32(value.count), checksum: sum,
      isQueue: space.shape == .fifo)
  }

  mutating func delete(_ space: Space, _ key: Bytes) throws(StoreError) {
    begin(3, space, key)
    try check()
  }

  mutating func clear(_ space: Space, from: Bytes, to: Bytes) throws(StoreError) {
    begin(4, space, from)
    edits.sized(to)
    try check()
  }

  private mutating func begin(_ op: UInt8, _ space: Space, _ key: Bytes) {
    edits.byte(op | space.shape.rawValue << 4)
    edits.byte(space.id)
    edits.sized(key)
  }

  private func check() throws(StoreError) {
    guard total <= Self.limit else {
      throw StoreError(
        .tooLarge, "A commit may have at most \(Self.limit) bytes. Split it into smaller ones.")
    }
  }

  /// The frame's bytes, made for a place.
  ///
  /// - Parameter header: all but lengths and checksums; these are filled in.
  func bytes(_ header: inout FrameHeader, _ seed: UInt64) -> Bytes {
    header.editsLength = UInt32(edits.count)
    header.valuesLength = UInt32(valuesLength)
    header.editsSum = edits.bytes.withUnsafeBytes { XXHash64.short($0) }
    var frame = Bytes()
    frame.reserveCapacity(total)
    frame.append(contentsOf: repeatElement(0, count: FrameHeader.size))
    frame.append(contentsOf: edits.bytes)
    for value in values { frame.append(contentsOf: value) }
    frame.append(contentsOf: repeatElement(0, count: total - frame.count))
    header.write(&frame, seed: seed)
    return frame
  }
}
