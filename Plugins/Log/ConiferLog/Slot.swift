import ConiferKeyValue

/// Where a longer value is.
struct Pointer: Sendable, Equatable {
  var segment: UInt64
  var offset: UInt32
  let length: UInt32
  let checksum: UInt32
  /// Whether it is the queue's, so that compaction keeps it apart.
  let isQueue: Bool

  /// What the record takes in its segment, with its stored key.
  func weight(_ key: Bytes) -> Int { Int(length) + key.count + 8 }
}

/// What the index knows of a key.
enum Slot: Sendable, Equatable {
  /// The key was removed, also from older tables.
  case gone
  /// A value that is kept in the index itself.
  case small(Bytes)
  case value(Pointer)

  /// The longest value that is kept in the index.
  static let smallLimit = 64

  /// About how much memory an entry takes, beside its key.
  var weight: Int {
    if case .small(let bytes) = self { return 24 + bytes.count }
    return 24
  }
}

/// What the tail knows of a key.
struct TailEntry: Sendable {
  var slot: Slot
  /// Whether the value that tables know of the key still counts as live: that is settled when the
  /// tail is folded, key after key, so that a commit need not look it up.
  var owes: Bool
}

/// What the index knows of a key, lent.
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
  /// A key as the index has it: behind its space's number.
  func stored(_ key: Bytes) -> Bytes {
    var stored = Bytes()
    stored.reserveCapacity(key.count + 1)
    stored.append(id)
    stored.append(contentsOf: key)
    return stored
  }
}
