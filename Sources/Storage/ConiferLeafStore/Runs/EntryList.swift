package import ConiferKeyValue

/// Entries in path order: all keys in one buffer, all values in another.
///
/// All entries of a run together take only a few allocations, and moving them to another run copies
/// memory.
package struct EntryList: Sendable {
  /// Where an entry ends in the two buffers.
  package struct End: Sendable {
    package var key = 0
    package var value = 0
  }

  @usableFromInline var keys = Bytes()
  @usableFromInline var values = ByteWriter()
  /// The end of each entry; the first element is the start of the first entry.
  @usableFromInline var ends = [End()]
  /// The encoded leaves behind references that were appended here, by index.
  package private(set) var contents: [Int: Bytes] = [:]

  package init() {}

  /// A list of parts that fit together.
  ///
  /// - Parameter ends: the end of each entry, after the start of the first one.
  package init(keys: Bytes, values: Bytes, ends: [End]) {
    self.keys = keys
    self.values = ByteWriter(values)
    self.ends = ends
  }

  /// About what the list takes in memory.
  package var size: Int {
    keys.capacity + values.bytes.capacity + ends.capacity * MemoryLayout<End>.stride
      + contents.values.reduce(0) { $0 + $1.count }
  }

  @inlinable package func keyRange(_ index: Int) -> Range<Int> {
    ends[index].key..<ends[index + 1].key
  }

  @inlinable package func valueRange(_ index: Int) -> Range<Int> {
    ends[index].value..<ends[index + 1].value
  }

  /// How many bytes some entries have.
  package func size(_ range: Range<Int>) -> Int {
    let (first, last) = (ends[range.lowerBound], ends[range.upperBound])
    return last.key - first.key + last.value - first.value
  }

  /// The approximate bytes that some entries add to a run's body.
  package func weight(_ range: Range<Int>) -> Int { weights(range).last ?? 0 }

  /// The cumulative weights of some entries, where a weight is about the bytes that an entry adds
  /// to a run's body: 0, then the sum after each entry.
  package func weights(_ range: Range<Int>) -> [Int] {
    lend { entries in
      [Int](unsafeUninitializedCapacity: range.count + 1) { sums, count in
        var sum = 0
        sums[0] = 0
        var previous =
          range.isEmpty || range.lowerBound == 0
          ? UnsafeRawBufferPointer(start: nil, count: 0) : entries.key(range.lowerBound - 1)
        for (place, index) in range.enumerated() {
          let key = entries.key(index)
          sum += entries.value(index).count + key.count - commonPrefix(previous, key) + 3
          sums[place + 1] = sum
          previous = key
        }
        count = range.count + 1
      }
    }
  }

  /// Whether an entry's value is a reference to the chunks of a large leaf.
  package func isLargeLeaf(_ index: Int) -> Bool {
    let range = valueRange(index)
    guard !range.isEmpty else { return false }
    return values.bytes[range.lowerBound] & ~ValueTag.priorityFlag == ValueTag.largeLeaf
  }

  // MARK: Building

  /// Reserves memory for entries, so that the list does not grow step by step.
  package mutating func reserveCapacity(_ count: Int, keys keyBytes: Int, values valueBytes: Int) {
    ends.reserveCapacity(ends.count + count)
    keys.reserveCapacity(keys.count + keyBytes)
    values.reserveCapacity(valueBytes)
  }

  /// Appends an entry whose value is written in place; a value larger than `LargeLeaf.threshold` is
  /// removed again.
  ///
  /// - Returns: whether it was appended.
  package mutating func append(_ key: Bytes, _ write: (inout ByteWriter) -> Void) -> Bool {
    write(&values)
    guard values.count - ends[count].value <= LargeLeaf.threshold else {
      values.truncate(to: ends[count].value)
      return false
    }
    end(key)
    return true
  }

  /// Whether the list has references to chunks that are not written yet.
  package var hasContents: Bool { !contents.isEmpty }

  /// The list with the entries whose chunks are not written yet replaced.
  package func replacingContents<E: Error>(
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

  package mutating func append(_ entry: Entry) {
    if let content = entry.content { contents[count] = content }
    values.append(entry.value)
    end(entry.key)
  }

  private mutating func end(_ key: Bytes) {
    keys.append(contentsOf: key)
    ends.append(End(key: keys.count, value: values.count))
  }

  /// Appends entries of another list, without the contents of large leaves.
  package mutating func append(_ other: EntryList, _ range: Range<Int>) {
    let (first, last) = (other.ends[range.lowerBound], other.ends[range.upperBound])
    let (key, value) = (keys.count - first.key, values.count - first.value)
    keys.append(contentsOf: other.keys[first.key..<last.key])
    values.append(other.values.bytes, first.value..<last.value)
    for index in range {
      let end = other.ends[index + 1]
      ends.append(End(key: end.key + key, value: end.value + value))
    }
  }

  /// Replaces a range of entries by entries of another list; only the entries after the range are
  /// moved.
  package mutating func replace(_ range: Range<Int>, with other: EntryList, _ part: Range<Int>) {
    if range.lowerBound == count { return append(other, part) }
    let (low, high) = (ends[range.lowerBound], ends[range.upperBound])
    let (first, last) = (other.ends[part.lowerBound], other.ends[part.upperBound])
    keys.replaceSubrange(low.key..<high.key, with: other.keys[first.key..<last.key])
    values.bytes.replaceSubrange(
      low.value..<high.value, with: other.values.bytes[first.value..<last.value])
    ends.replaceSubrange(
      (range.lowerBound + 1)..<(range.upperBound + 1),
      with: other.ends[(part.lowerBound + 1)..<(part.upperBound + 1)])
    let end = range.lowerBound + part.count
    move((range.lowerBound + 1)..<(end + 1), low.key - first.key, low.value - first.value)
    move(
      (end + 1)..<ends.count, last.key - first.key - (high.key - low.key),
      last.value - first.value - (high.value - low.value))
  }

  /// Moves the ends of entries by so many bytes.
  private mutating func move(_ range: Range<Int>, _ key: Int, _ value: Int) {
    guard key != 0 || value != 0 else { return }
    ends.withUnsafeMutableBufferPointer { ends in
      for index in range {
        ends[index].key += key
        ends[index].value += value
      }
    }
  }

  /// Inserts entries of another list.
  ///
  /// - Parameter places: for each of them its index, ascending, and whether it replaces the entry
  ///   there.
  package mutating func put(
    _ other: EntryList, _ part: Range<Int>, at places: [(at: Int, isThere: Bool)]
  ) {
    guard let first = places.first, first.at < count else { return append(other, part) }
    if part.count == 1 {
      return replace(first.at..<(first.at + (first.isThere ? 1 : 0)), with: other, part)
    }
    var list = EntryList()
    list.reserveCapacity(
      count + part.count, keys: keys.count + other.keyBytes(part),
      values: values.count + other.size(part) - other.keyBytes(part))
    var from = 0
    for (place, index) in zip(places, part) {
      if from < place.at { list.append(self, from..<place.at) }
      list.append(other, index..<(index + 1))
      from = place.isThere ? place.at + 1 : place.at
    }
    list.append(self, from..<count)
    self = list
  }

  private func keyBytes(_ range: Range<Int>) -> Int {
    ends[range.upperBound].key - ends[range.lowerBound].key
  }

  /// The list with changes applied; of several changes of one entry the last counts.
  package func merged(_ changes: [EntryChange]) -> EntryList {
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
  @inlinable package var startIndex: Int { 0 }
  @inlinable package var endIndex: Int { ends.count - 1 }

  /// A copy of an entry.
  package subscript(index: Int) -> Entry {
    Entry(
      key: key(index), value: Bytes(values.bytes[valueRange(index)]), content: contents[index])
  }

  package func key(_ index: Int) -> Bytes { Bytes(keys[keyRange(index)]) }

  /// Lends the key of an entry.
  @inlinable package func withKey<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    keys.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[keyRange(index)])) }
  }

  /// The bytes of all entries, lent for as long as a closure runs.
  package struct Lent: ~Copyable {
    @usableFromInline let keys: UnsafeRawBufferPointer
    @usableFromInline let values: UnsafeRawBufferPointer
    @usableFromInline let ends: UnsafeBufferPointer<End>

    @usableFromInline
    init(
      keys: UnsafeRawBufferPointer, values: UnsafeRawBufferPointer,
      ends: UnsafeBufferPointer<End>
    ) {
      self.keys = keys
      self.values = values
      self.ends = ends
    }

    @inlinable package var count: Int { ends.count - 1 }

    @inlinable package func key(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: keys[ends[index].key..<ends[index + 1].key])
    }

    @inlinable package func value(_ index: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: values[ends[index].value..<ends[index + 1].value])
    }

    /// The index of the first entry at or after a key.
    @inlinable package func lowerBound(_ key: UnsafeRawBufferPointer) -> Int {
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        if compareBytes(self.key(middle), key) < 0 { low = middle + 1 } else { high = middle }
      }
      return low
    }

    /// Whether an entry's key begins with some bytes.
    @inlinable package func hasPrefix(_ index: Int, _ prefix: UnsafeRawBufferPointer) -> Bool {
      let key = key(index)
      return key.count >= prefix.count
        && compareBytes(UnsafeRawBufferPointer(rebasing: key[..<prefix.count]), prefix) == 0
    }

    /// How many bytes some keys take.
    @inlinable package func keySize(_ range: Range<Int>) -> Int {
      ends[range.upperBound].key - ends[range.lowerBound].key
    }

    /// How many bytes some values take.
    @inlinable package func valueSize(_ range: Range<Int>) -> Int {
      ends[range.upperBound].value - ends[range.lowerBound].value
    }
  }

  /// Lends all entries.
  @inlinable package func lend<R>(_ body: (borrowing Lent) -> R) -> R {
    keys.withUnsafeBytes { keys in
      values.bytes.withUnsafeBytes { values in
        ends.withUnsafeBufferPointer { body(Lent(keys: keys, values: values, ends: $0)) }
      }
    }
  }

  /// Lends the value of an entry.
  @inlinable package func withValue<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    values.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[valueRange(index)])) }
  }
}
