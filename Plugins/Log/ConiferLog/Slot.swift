import ConiferKeyValue

/// The position of a longer value.
struct Pointer: Sendable, Equatable {
  var segment: UInt64
  var offset: UInt32
  let length: UInt32
  let checksum: UInt32
  /// Whether it belongs to the queue, so that compaction stores it separately.
  let isQueue: Bool

  /// The record's length in its segment, with its stored key.
  func weight(_ key: Bytes) -> Int { Int(length) + key.count + 8 }
}

/// The index entry of a key.
enum Slot: Sendable, Equatable {
  /// The key was removed, also from older tables.
  case gone
  /// A value that is kept in the index itself.
  case small(Bytes)
  case value(Pointer)

  /// The longest value that is kept in the index.
  static let smallLimit = 64

  /// The approximate memory of an entry, without its key.
  var weight: Int {
    if case .small(let bytes) = self { return 24 + bytes.count }
    return 24
  }
}

/// The tail's entry of a key.
struct TailEntry: Sendable {
  var slot: Slot
  /// Whether the key's older value in tables still counts as live. Folding the tail corrects that,
  /// so that a commit need not look the value up.
  var hasStaleValue: Bool
}

/// The index entry of a key, lent.
enum LentSlot {
  case gone
  case small(UnsafeRawBufferPointer)
  case value(Pointer)

  /// How many bytes the value has.
  var size: Int {
    switch self {
    case .gone: 0
    case .small(let bytes): bytes.count
    case .value(let pointer): Int(pointer.length)
    }
  }
}

extension Space {
  /// A stored key: the space's number, then the key.
  func stored(_ key: Bytes) -> Bytes {
    var stored = Bytes()
    stored.reserveCapacity(key.count + 1)
    stored.append(id)
    stored.append(contentsOf: key)
    return stored
  }
}
