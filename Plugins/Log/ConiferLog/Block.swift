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
    let keys = raw.withUnsafeBytes { raw -> Bytes? in
      /// How many bytes each key shares with the one before, and the others.
      var parts: [(shared: Int, rest: UnsafeRawBufferPointer)] = []
      parts.reserveCapacity(raw.count / 16)
      var reader = LentReader(raw)
      var total = 0
      var last = 0
      while reader.remaining > 0 {
        guard let shared = reader.size(), shared <= last, let rest = reader.sized(),
          shared + rest.count <= Int(UInt32.max) - total
        else { return nil }
        last = shared + rest.count
        total += last
        parts.append((shared, rest))
        entries.append(Entry(keyEnd: UInt32(total), at: UInt32(raw.count - reader.remaining)))
        guard Self.slot(&reader) != nil else { return nil }
      }
      return Bytes(unsafeUninitializedCapacity: total) { keys, count in
        let keys = UnsafeMutableRawBufferPointer(keys)
        var before = 0
        for (shared, rest) in parts {
          let start = count
          let tail = UnsafeMutableRawBufferPointer(rebasing: keys[start..<(start + shared)])
          tail.copyMemory(from: .init(rebasing: keys[before..<(before + shared)]))
          let own = start + shared
          UnsafeMutableRawBufferPointer(rebasing: keys[own..<(own + rest.count)])
            .copyMemory(from: rest)
          count = own + rest.count
          before = start
        }
      }
    }
    guard let keys, !entries.isEmpty else { return nil }
    self.raw = raw
    self.keys = keys
    self.entries = entries
  }

  /// The index entry of a key; nil when the bytes are invalid.
  private static func slot(_ reader: inout LentReader) -> LentSlot? {
    switch reader.byte() {
    case 0: return .gone
    case 1: return reader.sized().map { .small($0) }
    case let kind? where kind == 2 || kind == 3:
      guard let segment = reader.varint(),
        let offset = reader.varint().flatMap({ UInt32(exactly: $0) }),
        let length = reader.varint().flatMap({ UInt32(exactly: $0) }),
        let checksum = reader.word()
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
      var reader = LentReader(raw, from: Int(entries[index].at))
      do throws(E) {
        return .success(try body(Self.slot(&reader) ?? .gone))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// What the index knows of a key, copied.
  func slot(_ index: Int) -> Slot {
    raw.withUnsafeBytes { raw in
      var reader = LentReader(raw, from: Int(entries[index].at))
      switch Self.slot(&reader) {
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
          let order = compareBytes(UnsafeRawBufferPointer(rebasing: keys[range(middle)]), key)
          if order == 0 { return (middle, true) }
          if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
      }
    }
  }
}
