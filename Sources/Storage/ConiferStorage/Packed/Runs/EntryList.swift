import ConiferKeyValue
import ConiferTree

/// Entries in path order: all keys in one buffer, all values in another.
///
/// The leaves of a room are a handful of allocations, and move from run to run as memory.
struct EntryList: Sendable {
  /// Where an entry ends in the two buffers.
  private struct End: Sendable {
    var key = 0
    var value = 0
  }

  private(set) var keys = Bytes()
  private(set) var values = ByteWriter()
  /// The end of each entry, behind the beginning of the first.
  private var ends = [End()]
  /// The encoded leaves behind references that were appended here, by index.
  private(set) var contents: [Int: Bytes] = [:]

  init() {}

  /// The entries of a run, from a cursor before the first one; nil when the body is damaged.
  ///
  /// - Parameter size: the bytes of the body, which values never exceed.
  init?(_ cursor: inout RunCursor, size: Int) {
    // No run that was written comes near this: its keys would be a thousand times the body.
    guard let keySize = cursor.sizeOfKeys(), keySize <= 1 << 30 else { return nil }
    var ends = [End()]
    ends.reserveCapacity(cursor.count + 1)
    var values = Bytes()
    var isWhole = true
    keys = Bytes(unsafeUninitializedCapacity: keySize) { keyBuffer, keyCount in
      var keyWriter = LentWriter(UnsafeMutableRawBufferPointer(keyBuffer))
      values = Bytes(unsafeUninitializedCapacity: size) { valueBuffer, valueCount in
        var valueWriter = LentWriter(UnsafeMutableRawBufferPointer(valueBuffer))
        while cursor.next(), cursor.copyValue(to: &valueWriter) {
          keyWriter.append(cursor.key)
          ends.append(End(key: keyWriter.count, value: valueWriter.count))
        }
        valueCount = valueWriter.count
        isWhole = !valueWriter.isOverfull
      }
      keyCount = keyWriter.count
      isWhole = isWhole && !keyWriter.isOverfull
    }
    self.values = ByteWriter(values)
    self.ends = ends
    guard isWhole, !cursor.isDamaged else { return nil }
  }

  /// About what the list takes in memory.
  var size: Int {
    keys.capacity + values.bytes.capacity + ends.capacity * MemoryLayout<End>.stride
      + contents.values.reduce(0) { $0 + $1.count }
  }

  func keyRange(_ index: Int) -> Range<Int> { ends[index].key..<ends[index + 1].key }

  func valueRange(_ index: Int) -> Range<Int> { ends[index].value..<ends[index + 1].value }

  /// About what an entry adds to a run's body, behind the entry before.
  func weight(_ index: Int) -> Int {
    let shared = index == 0 ? 0 : withKeys(index - 1, index) { RunBody.commonPrefix($0, $1) }
    return valueRange(index).count + keyRange(index).count - shared + 3
  }

  /// About what some entries add to a run's body.
  func weight(_ range: Range<Int>) -> Int { range.reduce(0) { $0 + weight($1) } }

  /// Whether an entry's value is a reference to parts of its own.
  func isExternal(_ index: Int) -> Bool {
    let range = valueRange(index)
    guard !range.isEmpty else { return false }
    return values.bytes[range.lowerBound] & ~LeafCodec.Tag.priorityFlag == LeafCodec.Tag.external
  }

  // MARK: Building

  /// Appends a leaf, as a reference to parts when it is large.
  mutating func append(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) {
    LeafCodec.append(leaf, priority, to: &values)
    guard values.count - ends[count].value > LargeLeaf.threshold else { return end(key) }
    values.truncate(to: ends[count].value)
    append(LargeLeaf.entry(key, leaf, priority))
  }

  mutating func append(_ entry: Entry) {
    if let content = entry.content { contents[count] = content }
    values.append(entry.value)
    end(entry.key)
  }

  private mutating func end(_ key: Bytes) {
    keys.append(contentsOf: key)
    ends.append(End(key: keys.count, value: values.count))
  }

  /// Appends entries of another list; contents behind references stay where they are.
  mutating func append(_ other: EntryList, _ range: Range<Int>) {
    let (first, last) = (other.ends[range.lowerBound], other.ends[range.upperBound])
    let (key, value) = (keys.count - first.key, values.count - first.value)
    keys.append(contentsOf: other.keys[first.key..<last.key])
    values.append(other.values.bytes, first.value..<last.value)
    for index in range {
      let end = other.ends[index + 1]
      ends.append(End(key: end.key + key, value: end.value + value))
    }
  }

  /// Replaces entries by some of another list.
  mutating func replace(_ range: Range<Int>, with other: EntryList, _ part: Range<Int>) {
    if range.lowerBound == count { return append(other, part) }
    var list = EntryList()
    list.append(self, 0..<range.lowerBound)
    list.append(other, part)
    list.append(self, range.upperBound..<count)
    self = list
  }

  /// The list with changes laid over it; of one entry's changes the last counts.
  func merged(_ changes: [EntryChange]) -> EntryList {
    guard !changes.isEmpty else { return self }
    let order = changes.indices.sorted { a, b in
      let order = compareBytes(changes[a].key, changes[b].key)
      return order == 0 ? a < b : order < 0
    }
    var list = EntryList()
    var at = 0
    for (place, index) in order.enumerated() {
      let key = changes[index].key
      if place + 1 < order.count, changes[order[place + 1]].key == key { continue }
      let next = lowerBound(key, from: at)
      list.append(self, at..<next)
      at = next < count && compareKey(next, key) == 0 ? next + 1 : next
      if case .put(let entry) = changes[index] { list.append(entry) }
    }
    list.append(self, at..<count)
    return list
  }
}

extension EntryList: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { ends.count - 1 }

  /// A copy of an entry.
  subscript(index: Int) -> Entry {
    Entry(
      key: key(index), value: Bytes(values.bytes[valueRange(index)]), content: contents[index])
  }

  func key(_ index: Int) -> Bytes { Bytes(keys[keyRange(index)]) }

  /// Lends the key of an entry.
  func withKey<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    keys.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[keyRange(index)])) }
  }

  /// Lends the keys of some entries, in order, with their leaves (nil for a damaged value), until a
  /// visit says that it is over.
  ///
  /// - Returns: whether one did.
  func visit(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer, LeafCodec.Decoded?) -> Bool
  ) -> Bool {
    keys.withUnsafeBytes { keys in
      values.bytes.withUnsafeBytes { values in
        for index in range {
          var reader = LentReader(UnsafeRawBufferPointer(rebasing: values[valueRange(index)]))
          var leaf = LeafCodec.decode(&reader)
          if reader.remaining > 0 { leaf = nil }
          if body(UnsafeRawBufferPointer(rebasing: keys[keyRange(index)]), leaf) { return true }
        }
        return false
      }
    }
  }

  /// The leaf of an entry, or nil when its value is damaged.
  func leaf(_ index: Int) -> LeafCodec.Decoded? {
    var reader = ByteReader(values.bytes, valueRange(index))
    guard let decoded = LeafCodec.decode(&reader), reader.isAtEnd else { return nil }
    return decoded
  }
}
