import ConiferKeyValue
import ConiferTree

/// Entries in path order: all keys in one buffer, all values in another.
///
/// The leaves of a room are a handful of allocations, and move from run to run as memory.
struct EntryList: Sendable {
  /// Where an entry ends in the two buffers.
  struct End: Sendable {
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

  /// A list of parts that fit together.
  ///
  /// - Parameter ends: the end of each entry, behind the beginning of the first.
  init(keys: Bytes, values: Bytes, ends: [End]) {
    self.keys = keys
    self.values = ByteWriter(values)
    self.ends = ends
  }

  /// About what the list takes in memory.
  var size: Int {
    keys.capacity + values.bytes.capacity + ends.capacity * MemoryLayout<End>.stride
      + contents.values.reduce(0) { $0 + $1.count }
  }

  func keyRange(_ index: Int) -> Range<Int> { ends[index].key..<ends[index + 1].key }

  func valueRange(_ index: Int) -> Range<Int> { ends[index].value..<ends[index + 1].value }

  /// How many bytes some entries have.
  func size(_ range: Range<Int>) -> Int {
    let (first, last) = (ends[range.lowerBound], ends[range.upperBound])
    return last.key - first.key + last.value - first.value
  }

  /// About what some entries add to a run's body.
  func weight(_ range: Range<Int>) -> Int { weights(range).last ?? 0 }

  /// About what some entries add to a run's body, summed up: before the first of them, behind it, and
  /// so on to behind the last.
  func weights(_ range: Range<Int>) -> [Int] {
    lend { entries in
      [Int](unsafeUninitializedCapacity: range.count + 1) { sums, count in
        var sum = 0
        sums[0] = 0
        var previous =
          range.isEmpty || range.lowerBound == 0
          ? UnsafeRawBufferPointer(start: nil, count: 0) : entries.key(range.lowerBound - 1)
        for (place, index) in range.enumerated() {
          let key = entries.key(index)
          sum += entries.value(index).count + key.count - RunBody.commonPrefix(previous, key) + 3
          sums[place + 1] = sum
          previous = key
        }
        count = range.count + 1
      }
    }
  }

  /// Whether an entry's value is a reference to parts of its own.
  func isExternal(_ index: Int) -> Bool {
    let range = valueRange(index)
    guard !range.isEmpty else { return false }
    return values.bytes[range.lowerBound] & ~LeafCodec.Tag.priorityFlag == LeafCodec.Tag.external
  }

  // MARK: Building

  /// Makes room for entries, so that the list need not grow by and by.
  mutating func reserve(_ count: Int, keys keyBytes: Int, values valueBytes: Int) {
    ends.reserveCapacity(ends.count + count)
    keys.reserveCapacity(keys.count + keyBytes)
    values.reserve(valueBytes)
  }

  /// Appends a leaf, as a reference to parts when it is large.
  mutating func append(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) {
    LeafCodec.append(leaf, priority, to: &values)
    guard values.count - ends[count].value > LargeLeaf.threshold else { return end(key) }
    values.truncate(to: ends[count].value)
    append(LargeLeaf.entry(key, leaf, priority))
  }

  /// Whether there are references to parts that are still to be written.
  var hasContents: Bool { !contents.isEmpty }

  /// The list with other entries in the place of those whose parts are still to be written.
  func replacingContents<E: Error>(
    _ body: (_ entry: Entry, _ content: Bytes) throws(E) -> Entry
  ) throws(E) -> EntryList {
    var list = EntryList()
    var at = 0
    for (index, content) in contents.sorted(by: { $0.key < $1.key }) {
      list.append(self, at..<index)
      list.append(try body(self[index], content))
      at = index + 1
    }
    list.append(self, at..<count)
    return list
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

  /// The bytes of all entries, lent for as long as a closure runs.
  struct Lent: ~Copyable {
    fileprivate let keys: UnsafeRawBufferPointer
    fileprivate let values: UnsafeRawBufferPointer
    fileprivate let ends: UnsafeBufferPointer<End>

    var count: Int { ends.count - 1 }

    @inline(__always)
    func key(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: keys[ends[index].key..<ends[index + 1].key])
    }

    @inline(__always)
    func value(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: values[ends[index].value..<ends[index + 1].value])
    }

    /// The index of the first entry at or after a key.
    func lowerBound(_ key: UnsafeRawBufferPointer) -> Int {
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        if compareBytes(self.key(middle), key) < 0 { low = middle + 1 } else { high = middle }
      }
      return low
    }

    /// Whether an entry's key begins with some bytes.
    func hasPrefix(_ index: Int, _ prefix: UnsafeRawBufferPointer) -> Bool {
      let key = key(index)
      return key.count >= prefix.count
        && compareBytes(UnsafeRawBufferPointer(rebasing: key[..<prefix.count]), prefix) == 0
    }

    /// How many bytes some keys take.
    func keySize(_ range: Range<Int>) -> Int {
      ends[range.upperBound].key - ends[range.lowerBound].key
    }

    /// How many bytes some values take.
    func valueSize(_ range: Range<Int>) -> Int {
      ends[range.upperBound].value - ends[range.lowerBound].value
    }

    /// The leaf of an entry, or nil when its value is damaged.
    func leaf(_ index: Int) -> LeafCodec.Decoded? {
      var reader = LentReader(value(index))
      guard let leaf = LeafCodec.decode(&reader), reader.remaining == 0 else { return nil }
      return leaf
    }
  }

  /// Lends all entries.
  func lend<R>(_ body: (borrowing Lent) -> R) -> R {
    keys.withUnsafeBytes { keys in
      values.bytes.withUnsafeBytes { values in
        ends.withUnsafeBufferPointer { body(Lent(keys: keys, values: values, ends: $0)) }
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
