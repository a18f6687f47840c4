import ConiferKeyValue
import ConiferStorage

/// A block of a table, decoded for searching.
final class Block: Sendable {
  private struct Entry {
    /// Where the key ends; it begins where the one before ends.
    let keyEnd: UInt32
    let kind: UInt8
    /// Of a small value inside the block, of another inside its segment.
    let offset: UInt32
    let length: UInt32
    let checksum: UInt32
    let segment: UInt64
  }

  private let raw: Bytes
  private let keys: Bytes
  private let entries: [Entry]

  /// Decodes a block; nil when the bytes are none.
  init?(_ raw: Bytes) {
    var keys = Bytes()
    var entries: [Entry] = []
    keys.reserveCapacity(raw.count * 2)
    entries.reserveCapacity(raw.count / 24)
    var reader = ByteReader(raw)
    var last = 0..<0
    while !reader.isAtEnd {
      guard let shared = reader.int(), shared <= last.count, let rest = reader.int(),
        let range = reader.skip(rest), let kind = reader.byte()
      else { return nil }
      let start = keys.count
      if shared > 0 { keys.append(contentsOf: keys[last.lowerBound..<(last.lowerBound + shared)]) }
      keys.append(contentsOf: raw[range])
      last = start..<keys.count
      guard let keyEnd = UInt32(exactly: keys.count) else { return nil }
      var (segment, offset, length, sum): (UInt64, UInt32, UInt32, UInt64) = (0, 0, 0, 0)
      switch kind {
      case 0: break
      case 1:
        guard let count = reader.int(), let value = reader.skip(count) else { return nil }
        (offset, length) = (UInt32(value.lowerBound), UInt32(value.count))
      case 2, 3:
        guard let number = reader.varint(), let at = reader.short(), let count = reader.short(),
          let found = reader.littleEndian(bytes: 4)
        else { return nil }
        (segment, offset, length, sum) = (number, at, count, found)
      default: return nil
      }
      entries.append(
        Entry(
          keyEnd: keyEnd, kind: kind, offset: offset, length: length,
          checksum: UInt32(truncatingIfNeeded: sum), segment: segment))
    }
    guard !entries.isEmpty else { return nil }
    self.raw = raw
    self.keys = keys
    self.entries = entries
  }

  var count: Int { entries.count }

  /// About how much memory the block takes.
  var weight: Int { raw.count + keys.count + entries.count * 32 + 100 }

  /// Lends a key.
  func key<R, E: Error>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    let range = (index == 0 ? 0 : Int(entries[index - 1].keyEnd))..<Int(entries[index].keyEnd)
    let result = keys.withUnsafeBytes { buffer -> Result<R, E> in
      do throws(E) {
        return .success(try body(UnsafeRawBufferPointer(rebasing: buffer[range])))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Lends what the index knows of a key.
  func slot<R, E: Error>(_ index: Int, _ body: (LentSlot) throws(E) -> R) throws(E) -> R {
    let entry = entries[index]
    switch entry.kind {
    case 0: return try body(.gone)
    case 1:
      let range = Int(entry.offset)..<(Int(entry.offset) + Int(entry.length))
      let result = raw.withUnsafeBytes { buffer -> Result<R, E> in
        do throws(E) {
          return .success(try body(.small(UnsafeRawBufferPointer(rebasing: buffer[range]))))
        } catch { return .failure(error) }
      }
      return try result.get()
    default:
      return try body(
        .value(
          Pointer(
            segment: entry.segment, offset: entry.offset, length: entry.length,
            checksum: entry.checksum, isQueue: entry.kind == 3)))
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
          let start = middle == 0 ? 0 : Int(entries[middle - 1].keyEnd)
          let own = UnsafeRawBufferPointer(rebasing: keys[start..<Int(entries[middle].keyEnd)])
          let order = compare(own, key)
          if order == 0 { return (middle, true) }
          if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
      }
    }
  }
}
