import ConiferKeyValue

/// The entries of a run in columns: key lengths, key bytes, tags, numbers, text lengths, text.
///
/// Keys are front-coded: how many bytes an entry shares with the one before, how many follow.
/// A value is its tag and what belongs to it in the columns of numbers and text; a priority follows
/// its value as a second tag. Columns but the last are led by their lengths.
enum RunBody {
  /// The body of consecutive entries.
  static func encode(_ entries: ArraySlice<Entry>) -> Bytes {
    var columns = Columns()
    var previous = Bytes()
    for entry in entries {
      let shared = commonPrefix(previous, entry.key)
      columns.lengths.varint(shared)
      columns.lengths.varint(entry.key.count - shared)
      columns.suffixes.append(entry.key, shared..<entry.key.count)
      columns.append(entry.value)
      previous = entry.key
    }
    return columns.joined()
  }

  /// How many leading bytes all keys share.
  static func shared(_ entries: ArraySlice<Entry>) -> Int {
    guard let first = entries.first, let last = entries.last else { return 0 }
    return commonPrefix(first.key, last.key)
  }

  /// How many leading bytes two byte strings share.
  static func commonPrefix(_ a: Bytes, _ b: Bytes) -> Int {
    a.withUnsafeBytes { a in
      b.withUnsafeBytes { b in
        let most = min(a.count, b.count)
        var n = 0
        while n + 8 <= most,
          a.loadUnaligned(fromByteOffset: n, as: UInt64.self)
            == b.loadUnaligned(fromByteOffset: n, as: UInt64.self)
        {
          n += 8
        }
        while n < most, a[n] == b[n] { n += 1 }
        return n
      }
    }
  }

  private struct Columns {
    var lengths = ByteWriter()
    var suffixes = ByteWriter()
    var tags = ByteWriter()
    var numbers = ByteWriter()
    var textLengths = ByteWriter()
    var text = ByteWriter()

    /// Takes a value apart; its bytes come from `LeafCodec`.
    mutating func append(_ value: Bytes) {
      var at = 0
      while at < value.count {
        let tag = value[at]
        tags.byte(tag)
        at += 1
        switch tag & ~LeafCodec.Tag.priorityFlag {
        case LeafCodec.Tag.string, LeafCodec.Tag.otherPlaceholder:
          var reader = ByteReader(value, from: at)
          let count = reader.size() ?? 0
          textLengths.varint(count)
          text.append(value, reader.at..<(reader.at + count))
          at = reader.at + count
        case LeafCodec.Tag.double, LeafCodec.Tag.incrementDouble:
          numbers.append(value, at..<(at + 8))
          at += 8
        case LeafCodec.Tag.integer, LeafCodec.Tag.incrementInteger:
          at = copyVarint(value, at)
        case LeafCodec.Tag.external:
          at = copyVarint(value, copyVarint(value, at))
        default: break
        }
      }
    }

    private mutating func copyVarint(_ value: Bytes, _ start: Int) -> Int {
      var at = start
      while at < value.count, value[at] >= 0x80 { at += 1 }
      at = min(at + 1, value.count)
      numbers.append(value, start..<at)
      return at
    }

    func joined() -> Bytes {
      var body = ByteWriter()
      for column in [lengths, suffixes, tags, numbers, textLengths] { body.varint(column.count) }
      for column in [lengths, suffixes, tags, numbers, textLengths, text] {
        body.append(column.bytes)
      }
      return body.bytes
    }
  }
}
