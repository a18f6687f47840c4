package import ConiferKeyValue

extension EntryList {
  /// Lends the keys of two entries.
  @inlinable package func withKeys<R>(
    _ a: Int, _ b: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> R
  ) -> R {
    withKey(a) { a in withKey(b) { body(a, $0) } }
  }

  /// Orders an entry's key and another: negative, zero or positive.
  package func compareKey(_ index: Int, _ other: Bytes) -> Int {
    withKey(index) { key in other.withUnsafeBytes { compareBytes(key, $0) } }
  }

  private func compareKey(_ index: Int, _ list: EntryList, _ other: Int) -> Int {
    withKey(index) { key in list.withKey(other) { compareBytes(key, $0) } }
  }

  /// Whether an entry has the same key as an entry of another list.
  func hasEqualKey(_ index: Int, _ list: EntryList, _ other: Int) -> Bool {
    compareKey(index, list, other) == 0
  }

  /// Whether an entry has the same value as an entry of another list.
  func hasEqualValue(_ index: Int, _ list: EntryList, _ other: Int) -> Bool {
    values.bytes.withUnsafeBytes { mine in
      list.values.bytes.withUnsafeBytes {
        compareBytes(
          UnsafeRawBufferPointer(rebasing: mine[valueRange(index)]),
          UnsafeRawBufferPointer(rebasing: $0[list.valueRange(other)])) == 0
      }
    }
  }

  /// The index of the first entry at or after a key.
  package func lowerBound(_ key: Bytes, from start: Int = 0) -> Int {
    var low = start
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if compareKey(middle, key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The index of the first entry at or after the key of one of another list.
  func lowerBound(of list: EntryList, _ other: Int, from start: Int) -> Int {
    // The key is larger than all others, as in an import.
    if count > start, compareKey(count - 1, list, other) < 0 { return count }
    return list.withKey(other) { key in
      lend { entries in
        var (low, high) = (start, entries.count)
        while low < high {
          let middle = (low + high) / 2
          if compareBytes(entries.key(middle), key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
      }
    }
  }

  /// Visits the entries of two ranges that differ, in key order: with the index of the removed
  /// entry, of the added one, or of both.
  package func differences<E: Error>(
    _ range: Range<Int>, from new: EntryList, _ part: Range<Int>,
    _ visit: (_ old: Int?, _ new: Int?) throws(E) -> Void
  ) throws(E) {
    var at = range.lowerBound
    for index in part {
      var order = -1
      while at < range.upperBound {
        order = compareKey(at, new, index)
        if order >= 0 { break }
        try visit(at, nil)
        at += 1
      }
      if at < range.upperBound, order == 0 {
        if !hasEqualValue(at, new, index) { try visit(at, index) }
        at += 1
      } else {
        try visit(nil, index)
      }
    }
    while at < range.upperBound {
      try visit(at, nil)
      at += 1
    }
  }
}
