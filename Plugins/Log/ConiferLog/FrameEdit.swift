import ConiferKeyValue
import ConiferStorage

/// An edit in a frame; keys are stored keys.
enum FrameEdit: Equatable {
  case small(key: Bytes, value: Bytes)
  /// The pointer's offset counts from the frame's first value, its segment is not set.
  case value(key: Bytes, Pointer)
  case delete(key: Bytes)
  case clear(from: Bytes, to: Bytes)

  /// Reads the edits of a frame; nil when the bytes are invalid.
  static func all(_ bytes: Bytes, valuesLength: Int) -> [FrameEdit]? {
    var reader = ByteReader(bytes)
    var edits: [FrameEdit] = []
    var offset = 0
    while !reader.isAtEnd {
      guard let op = reader.byte(), let space = reader.byte(), let key = reader.sized() else {
        return nil
      }
      let stored = [space] + key
      switch op & 0x0F {
      case 1:
        guard let value = reader.sized() else { return nil }
        edits.append(.small(key: stored, value: value))
      case 2:
        guard let length = reader.short(), let sum = reader.littleEndian(bytes: 4),
          Int(length) <= valuesLength - offset
        else { return nil }
        edits.append(
          .value(
            key: stored,
            Pointer(
              segment: 0, offset: UInt32(offset), length: length,
              checksum: UInt32(truncatingIfNeeded: sum),
              isQueue: op >> 4 == Space.Shape.fifo.rawValue)))
        offset += Int(length)
      case 3: edits.append(.delete(key: stored))
      case 4:
        guard let to = reader.sized() else { return nil }
        edits.append(.clear(from: stored, to: [space] + to))
      default: return nil
      }
    }
    return offset == valuesLength ? edits : nil
  }
}
