import ConiferKeyValue

/// The entries of a run in columns: key lengths, key bytes, tags, numbers, text lengths, text.
///
/// Keys are front-coded: how many bytes an entry shares with the one before, how many follow.
/// A value is its tag and what belongs to it in the columns of numbers and text; a priority follows
/// its value as a second tag. Columns but the last are led by their lengths.
enum RunBody {
  /// The body of consecutive entries.
  static func encode(_ entries: EntryList, _ range: Range<Int>) -> Bytes {
    var columns = Columns()
    entries.withKeys { keys in
      entries.values.bytes.withUnsafeBytes { values in
        var previous = UnsafeRawBufferPointer(start: nil, count: 0)
        for index in range {
          let key = UnsafeRawBufferPointer(rebasing: keys[entries.keyRange(index)])
          let shared = commonPrefix(previous, key)
          columns.lengths.varint(shared)
          columns.lengths.varint(key.count - shared)
          columns.suffixes.append(UnsafeRawBufferPointer(rebasing: key[shared...]))
          columns.append(UnsafeRawBufferPointer(rebasing: values[entries.valueRange(index)]))
          previous = key
        }
      }
    }
    return columns.joined()
  }

  /// How many leading bytes all keys share.
  static func shared(_ entries: EntryList, _ range: Range<Int>) -> Int {
    guard let first = range.first, let last = range.last else { return 0 }
    return entries.withKeys(first, last) { commonPrefix($0, $1) }
  }

  /// How many leading bytes two byte strings share.
  static func commonPrefix(_ a: Bytes, _ b: Bytes) -> Int {
    a.withUnsafeBytes { a in b.withUnsafeBytes { commonPrefix(a, $0) } }
  }

  static func commonPrefix(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let most = min(a.count, b.count)
    var n = 0
    while n + 8 <= most {
      let left = a.loadUnaligned(fromByteOffset: n, as: UInt64.self)
      let right = b.loadUnaligned(fromByteOffset: n, as: UInt64.self)
      if left != right { return n + UInt64(littleEndian: left ^ right).trailingZeroBitCount / 8 }
      n += 8
    }
    while n < most, a[n] == b[n] { n += 1 }
    return n
  }

  private struct Columns {
    var lengths = ByteWriter()
    var suffixes = ByteWriter()
    var tags = ByteWriter()
    var numbers = ByteWriter()
    var textLengths = ByteWriter()
    var text = ByteWriter()

    /// Takes a value apart; its bytes come from `LeafCodec`.
    mutating func append(_ value: UnsafeRawBufferPointer) {
      var reader = LentReader(value)
      while let tag = reader.byte() {
        tags.byte(tag)
        switch tag & ~LeafCodec.Tag.priorityFlag {
        case LeafCodec.Tag.string, LeafCodec.Tag.otherPlaceholder:
          guard let count = reader.size(), let bytes = reader.take(count) else { return }
          textLengths.varint(count)
          text.append(bytes)
        case LeafCodec.Tag.double, LeafCodec.Tag.incrementDouble:
          guard let bytes = reader.take(8) else { return }
          numbers.append(bytes)
        case LeafCodec.Tag.integer, LeafCodec.Tag.incrementInteger:
          guard let bytes = reader.takeVarints(1) else { return }
          numbers.append(bytes)
        case LeafCodec.Tag.external:
          guard let bytes = reader.takeVarints(2) else { return }
          numbers.append(bytes)
        default: break
        }
      }
    }

    func joined() -> Bytes {
      var body = ByteWriter()
      body.reserve(
        20 + lengths.count + suffixes.count + tags.count + numbers.count + textLengths.count
          + text.count)
      for column in [lengths, suffixes, tags, numbers, textLengths] { body.varint(column.count) }
      for column in [lengths, suffixes, tags, numbers, textLengths, text] {
        body.append(column.bytes)
      }
      return body.bytes
    }
  }
}
