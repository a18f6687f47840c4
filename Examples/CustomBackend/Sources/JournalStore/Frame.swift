import ConiferKeyValue

/// One commit in the journal: magic (4 bytes), length of the payload (8), how much of the file was
/// synced when it was written (8), checksum (8), payload; numbers with their least byte first.
///
/// The checksum covers the frame's own offset too, so that a copy of a frame elsewhere, such as in a
/// stored value, is none.
struct Frame {
  static let headerSize = 28
  /// An edit's kind and space (1 byte each) and the lengths of its two parts (4 each).
  static let editSize = 10
  private static let magic: Bytes = [0xC0, 0x4E, 0x1F, 0xE2]

  let edits: [Batch.Edit]
  /// Up to which offset of the file everything was synced.
  let synced: Int
  /// Where the frame ends.
  let end: Int

  /// The bytes of a frame that is to stand at an offset.
  static func bytes(_ edits: [Batch.Edit], at offset: Int, synced: Int) -> Bytes {
    var payload: Bytes = []
    func add(_ kind: UInt8, _ space: Space, _ first: Bytes, _ second: Bytes) {
      payload += [kind, space.id] + number(first.count, 4) + number(second.count, 4)
      payload += first
      payload += second
    }
    for edit in edits {
      switch edit {
      case .put(let space, let key, let value): add(1, space, key, value)
      case .delete(let space, let key): add(2, space, key, [])
      case .clear(let space, let from, let to): add(3, space, from, to)
      }
    }
    let sum = checksum(payload[...], offset, synced)
    return magic + number(payload.count, 8) + number(synced, 8) + number(sum, 8) + payload
  }

  /// Reads the frame at an offset; nil when none stands there whole.
  init?(_ file: Bytes, at offset: Int) {
    guard offset + Self.headerSize <= file.count, file[offset...].starts(with: Self.magic),
      let length = Self.number(file, offset + 4, 8), let synced = Self.number(file, offset + 12, 8),
      length <= file.count - offset - Self.headerSize
    else { return nil }
    let payload = file[(offset + Self.headerSize)...].prefix(length)
    guard
      Self.number(Self.checksum(payload, offset, synced), 8)[...]
        == file[(offset + 20)..<(offset + 28)]
    else { return nil }
    var edits: [Batch.Edit] = []
    var at = payload.startIndex
    while at < payload.endIndex {
      let body = at + Self.editSize
      guard body <= payload.endIndex, let first = Self.number(file, at + 2, 4),
        let second = Self.number(file, at + 6, 4), body + first + second <= payload.endIndex
      else { return nil }
      let space = Space(id: file[at + 1], shape: .rows)
      let key = Bytes(file[body..<(body + first)])
      let rest = Bytes(file[(body + first)..<(body + first + second)])
      switch file[at] {
      case 1: edits.append(.put(space, key: key, value: rest))
      case 2: edits.append(.delete(space, key: key))
      case 3: edits.append(.clear(space, from: key, to: rest))
      default: return nil
      }
      at = body + first + second
    }
    self.edits = edits
    self.synced = synced
    end = payload.endIndex
  }

  /// Eight bytes at a time, each step reversible: a change of one word always changes the sum.
  private static func checksum(_ payload: ArraySlice<UInt8>, _ offset: Int, _ synced: Int) -> Int {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ word: UInt64) {
      sum = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
      sum ^= sum >> 29
    }
    for number in [offset, synced, payload.count] { add(UInt64(truncatingIfNeeded: number)) }
    payload.withUnsafeBytes { bytes in
      var at = 0
      while at + 8 <= bytes.count {
        add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
        at += 8
      }
      while at < bytes.count {
        add(UInt64(bytes[at]))
        at += 1
      }
    }
    return Int(truncatingIfNeeded: sum)
  }

  private static func number(_ number: Int, _ count: Int) -> Bytes {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// A number of a file; nil when it is no size of anything.
  private static func number(_ file: Bytes, _ offset: Int, _ count: Int) -> Int? {
    let number = (0..<count).reduce(0) { $0 | Int(file[offset + $1]) << (8 * $1) }
    return number >= 0 ? number : nil
  }
}
