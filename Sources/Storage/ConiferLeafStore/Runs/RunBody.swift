package import ConiferKeyValue

/// The entries of a run in columns: key lengths, key bytes, tags, numbers, text lengths, text.
///
/// Keys are front-coded: how many bytes an entry shares with the one before, how many follow.
/// A value is its tag and what belongs to it in the columns of numbers and text; a priority follows
/// its value as a second tag. Columns but the last are led by their lengths.
package enum RunBody {
  /// The body of consecutive entries.
  ///
  /// - Returns: the body, and whether some entry's value is a large leaf, stored in chunks.
  package static func encode(_ entries: EntryList, _ range: Range<Int>) -> (
    Bytes, hasLargeLeaves: Bool
  ) {
    entries.lend { entries in
      let size = Columns.Size(entries, range)
      return withUnsafeTemporaryAllocation(byteCount: size.total, alignment: 1) { memory in
        var columns = Columns(memory, size)
        var previous = UnsafeRawBufferPointer(start: nil, count: 0)
        for index in range {
          let key = entries.key(index)
          let shared = commonPrefix(previous, key)
          columns.lengths.varint(shared)
          columns.lengths.varint(key.count - shared)
          columns.suffixes.append(UnsafeRawBufferPointer(rebasing: key[shared...]))
          columns.append(entries.value(index))
          previous = key
        }
        return (columns.joined(), columns.hasLargeLeaves)
      }
    }
  }

  /// The entries of a body, or nil when the bytes are none.
  package static func decode(_ body: UnsafeRawBufferPointer, count: Int) -> EntryList? {
    // No written run comes near this limit: its keys would be a thousand times as long as the body.
    guard var columns = Parsed(body), let keySize = columns.sizeOfKeys(count), keySize <= 1 << 30
    else { return nil }
    var ends = [EntryList.End()]
    ends.reserveCapacity(count + 1)
    var values = Bytes()
    var isWhole = true
    let keys = Bytes(unsafeUninitializedCapacity: keySize) { keyBuffer, keyCount in
      var keyWriter = LentWriter(UnsafeMutableRawBufferPointer(keyBuffer))
      // Values never exceed the body.
      values = Bytes(unsafeUninitializedCapacity: body.count) { valueBuffer, valueCount in
        var valueWriter = LentWriter(UnsafeMutableRawBufferPointer(valueBuffer))
        var previous = 0
        for index in 0..<count {
          let start = keyWriter.count
          guard let shared = columns.lengths.size(), let added = columns.lengths.size(),
            let suffix = columns.suffixes.take(added), shared <= start - previous
          else {
            isWhole = false
            break
          }
          let last = UnsafeRawBufferPointer(rebasing: keyWriter.written[previous...])
          keyWriter.append(UnsafeRawBufferPointer(rebasing: last[..<shared]))
          keyWriter.append(suffix)
          guard index == 0 || ascends(last, shared, suffix), columns.copyValue(to: &valueWriter)
          else {
            isWhole = false
            break
          }
          previous = start
          ends.append(EntryList.End(key: keyWriter.count, value: valueWriter.count))
        }
        valueCount = valueWriter.count
        isWhole = isWhole && !valueWriter.isOverfull
      }
      keyCount = keyWriter.count
      isWhole = isWhole && !keyWriter.isOverfull
    }
    return isWhole ? EntryList(keys: keys, values: values, ends: ends) : nil
  }

  /// Whether a key is greater than the previous one, with which it shares some bytes; the first
  /// byte that differs decides.
  private static func ascends(
    _ last: UnsafeRawBufferPointer, _ shared: Int, _ suffix: UnsafeRawBufferPointer
  ) -> Bool {
    guard let first = suffix.first else { return false }
    return shared == last.count || last[shared] < first
  }

  /// How many leading bytes all keys share.
  package static func shared(_ entries: EntryList, _ range: Range<Int>) -> Int {
    guard let first = range.first, let last = range.last else { return 0 }
    return entries.withKeys(first, last) { commonPrefix($0, $1) }
  }

  /// The columns of a body that is encoded, in lent memory that has room for the largest result.
  private struct Columns {
    struct Size {
      let lengths, suffixes, values: Int

      init(_ entries: borrowing EntryList.Lent, _ range: Range<Int>) {
        // Two lengths of at most five bytes an entry.
        lengths = range.count * 10
        suffixes = entries.keySize(range)
        values = entries.valueSize(range)
      }

      /// Each of the last four columns takes a part of the values.
      var total: Int { lengths + suffixes + 4 * values }
    }

    var lengths, suffixes, tags, numbers, textLengths, text: LentWriter
    var hasLargeLeaves = false

    init(_ memory: UnsafeMutableRawBufferPointer, _ size: Size) {
      var start = 0
      func column(_ count: Int) -> LentWriter {
        defer { start += count }
        return LentWriter(
          UnsafeMutableRawBufferPointer(rebasing: memory[start..<(start + count)]))
      }
      lengths = column(size.lengths)
      suffixes = column(size.suffixes)
      tags = column(size.values)
      numbers = column(size.values)
      textLengths = column(size.values)
      text = column(size.values)
    }

    /// Splits a value: a `ValueTag`, then the bytes that the tag implies; with the priority flag a
    /// second value follows.
    @inline(__always)
    mutating func append(_ value: UnsafeRawBufferPointer) {
      var reader = LentReader(value)
      while let tag = reader.byte() {
        tags.byte(tag)
        switch tag & ~ValueTag.priorityFlag {
        case ValueTag.string, ValueTag.otherPlaceholder, ValueTag.document:
          guard let count = reader.size(), let bytes = reader.take(count) else { return }
          textLengths.varint(count)
          text.append(bytes)
        case ValueTag.double, ValueTag.incrementDouble:
          guard let bytes = reader.take(8) else { return }
          numbers.append(bytes)
        case ValueTag.integer, ValueTag.incrementInteger:
          guard let bytes = reader.takeVarints(1) else { return }
          numbers.append(bytes)
        case ValueTag.largeLeaf:
          hasLargeLeaves = true
          guard let bytes = reader.takeVarints(2) else { return }
          numbers.append(bytes)
        default: break
        }
      }
    }

    func joined() -> Bytes {
      let columns = [lengths, suffixes, tags, numbers, textLengths, text]
      let capacity = columns.reduce(25) { $0 + $1.count }
      return Bytes(unsafeUninitializedCapacity: capacity) { buffer, count in
        var body = LentWriter(UnsafeMutableRawBufferPointer(buffer))
        for column in columns.dropLast() { body.varint(column.count) }
        for column in columns { body.append(column.written) }
        count = body.count
      }
    }
  }

  /// The columns of a body that is read.
  private struct Parsed {
    var lengths, suffixes, tags, numbers, textLengths, text: LentReader

    /// Nil when the bytes are no body.
    init?(_ body: UnsafeRawBufferPointer) {
      var reader = LentReader(body)
      guard let a = reader.size(), let b = reader.size(), let c = reader.size(),
        let d = reader.size(), let e = reader.size(), let lengths = reader.take(a),
        let suffixes = reader.take(b), let tags = reader.take(c), let numbers = reader.take(d),
        let textLengths = reader.take(e), let text = reader.take(reader.remaining)
      else { return nil }
      self.lengths = LentReader(lengths)
      self.suffixes = LentReader(suffixes)
      self.tags = LentReader(tags)
      self.numbers = LentReader(numbers)
      self.textLengths = LentReader(textLengths)
      self.text = LentReader(text)
    }

    /// How many bytes so many keys have together, or nil when the body is damaged.
    func sizeOfKeys(_ count: Int) -> Int? {
      var lengths = lengths
      var size = 0
      for _ in 0..<count {
        guard let shared = lengths.size(), let added = lengths.size() else { return nil }
        size += shared + added
      }
      return size
    }

    /// Appends the next value as `append` was given it, with its priority; false when it is damaged.
    @inline(__always)
    mutating func copyValue(to writer: inout LentWriter) -> Bool {
      var hasMore = true
      while hasMore {
        guard let tag = tags.byte() else { return false }
        hasMore = tag & ValueTag.priorityFlag != 0
        writer.byte(tag)
        switch tag & ~ValueTag.priorityFlag {
        case ValueTag.string, ValueTag.otherPlaceholder, ValueTag.document:
          guard let count = textLengths.size(), let bytes = text.take(count) else { return false }
          writer.varint(count)
          writer.append(bytes)
        case ValueTag.double, ValueTag.incrementDouble:
          guard let bytes = numbers.take(8) else { return false }
          writer.append(bytes)
        case ValueTag.integer, ValueTag.incrementInteger:
          guard let bytes = numbers.takeVarints(1) else { return false }
          writer.append(bytes)
        case ValueTag.largeLeaf:
          guard let bytes = numbers.takeVarints(2) else { return false }
          writer.append(bytes)
        default: break
        }
      }
      return true
    }
  }
}
