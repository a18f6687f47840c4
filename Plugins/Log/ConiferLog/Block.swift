import ConiferKeyValue
import ConiferStorage

/// A decoded block of a table, with full keys for searching.
final class Block: Sendable {
  private struct Entry {
    /// The end of the key; it begins at the end of the key before.
    var keyEnd: UInt32
    /// Where the entry's kind is.
    var at: UInt32
  }

  private let raw: Bytes
  private let keys: Bytes
  private let entries: [Entry]

  /// Decodes a block; nil when the bytes are invalid.
  init?(_ raw: Bytes) {
    var entries: [Entry] = []
    entries.reserveCapacity(raw.count / 16)
    /// How many bytes each key shares with the one before, and where the others are.
    var parts: [(shared: Int, rest: Range<Int>)] = []
    parts.reserveCapacity(raw.count / 16)
    var cursor = ByteCursor()
    var total = 0
    var last = 0
    let isSound = raw.withUnsafeBytes { raw -> Bool in
      while cursor.at < raw.count {
        guard let shared = cursor.int(raw), shared <= last, let rest = cursor.range(raw),
          shared + rest.count <= Int(UInt32.max) - total
        else { return false }
        last = shared + rest.count
        total += last
        parts.append((shared, rest))
        entries.append(Entry(keyEnd: UInt32(total), at: UInt32(cursor.at)))
        guard Self.slot(raw, &cursor) != nil else { return false }
      }
      return true
    }
    guard isSound, !entries.isEmpty else { return nil }
    self.keys = raw.withUnsafeBytes { raw in
      Bytes(unsafeUninitializedCapacity: total) { keys, count in
        let keys = UnsafeMutableRawBufferPointer(keys)
        var before = 0
        for (shared, rest) in parts {
          let start = count
          let tail = UnsafeMutableRawBufferPointer(rebasing: keys[start..<(start + shared)])
          tail.copyMemory(from: .init(rebasing: keys[before..<(before + shared)]))
          let own = start + shared
          UnsafeMutableRawBufferPointer(rebasing: keys[own..<(own + rest.count)])
            .copyMemory(from: .init(rebasing: raw[rest]))
          count = own + rest.count
          before = start
        }
      }
    }
    self.raw = raw
    self.entries = entries
  }

  /// The index entry of a key; nil when the bytes are invalid.
  private static func slot(_ raw: UnsafeRawBufferPointer, _ cursor: inout ByteCursor) -> LentSlot? {
    switch cursor.byte(raw) {
    case 0: return .gone
    case 1:
      return cursor.range(raw).map { .small(UnsafeRawBufferPointer(rebasing: raw[$0])) }
    case let kind? where kind == 2 || kind == 3:
      guard let segment = cursor.varint(raw),
        let offset = cursor.varint(raw).flatMap({ UInt32(exactly: $0) }),
        let length = cursor.varint(raw).flatMap({ UInt32(exactly: $0) }),
        let checksum = cursor.word(raw)
      else { return nil }
      return .value(
        Pointer(
          segment: segment, offset: offset, length: length, checksum: checksum,
          isQueue: kind == 3))
    default: return nil
    }
  }

  var count: Int { entries.count }

  /// About how much memory the block takes.
  var weight: Int { raw.count + keys.count + entries.count * 8 + 150 }

  private func range(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : Int(entries[index - 1].keyEnd))..<Int(entries[index].keyEnd)
  }

  /// Lends a key.
  func key<R, E: Error>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let range = range(index)
    let result = keys.withUnsafeBytes { buffer -> Result<R, E> in
      do throws(E) {
        return .success(try body(UnsafeRawBufferPointer(rebasing: buffer[range])))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Lends what the index knows of a key.
  func slot<R, E: Error>(_ index: Int, _ body: (LentSlot) throws(E) -> R) throws(E) -> R {
    let result = raw.withUnsafeBytes { raw -> Result<R, E> in
      var cursor = ByteCursor(at: Int(entries[index].at))
      do throws(E) {
        return .success(try body(Self.slot(raw, &cursor) ?? .gone))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// What the index knows of a key, copied.
  func slot(_ index: Int) -> Slot {
    raw.withUnsafeBytes { raw in
      var cursor = ByteCursor(at: Int(entries[index].at))
      switch Self.slot(raw, &cursor) {
      case .small(let bytes): return .small(Bytes(bytes))
      case .value(let pointer): return .value(pointer)
      case .gone, nil: return .gone
      }
    }
  }

  /// The first entry at or after a key, `count` when there is none, and whether it is the key's.
  func search(_ key: Bytes) -> (index: Int, isFound: Bool) {
    key.withUnsafeBytes { key in
      keys.withUnsafeBytes { keys in
        var low = 0
        var high = entries.count
        while low < high {
          let middle = (low + high) / 2
          let order = compare(UnsafeRawBufferPointer(rebasing: keys[range(middle)]), key)
          if order == 0 { return (middle, true) }
          if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
      }
    }
  }
}

/// Reads numbers and ranges of bytes that stay where they are.
struct ByteCursor {
  var at = 0

  mutating func byte(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return bytes[at]
  }

  mutating func varint(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while at < bytes.count, shift < 64 {
      let byte = bytes[at]
      at += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  mutating func int(_ bytes: UnsafeRawBufferPointer) -> Int? {
    varint(bytes).flatMap { Int(exactly: $0) }
  }

  /// A number of 32 bits, little-endian.
  mutating func word(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    guard bytes.count - at >= 4 else { return nil }
    defer { at += 4 }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
  }

  /// A length, and the range of that many bytes.
  mutating func range(_ bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    guard let count = int(bytes), count <= bytes.count - at else { return nil }
    defer { at += count }
    return at..<(at + count)
  }
}
