import ConiferKeyValue

/// A hash table from keys to indices of a list's entries: one lookup instead of a binary search,
/// whose every step touches another place in memory.
package final class KeyTable: Sendable {
  /// The index of an entry plus one, at its hash or the next free place; 0 marks a free place.
  private let places: [UInt16]

  /// A table of a list, which is given with each search; nil for a list that is too long for one.
  package init?(_ entries: EntryList) {
    guard entries.count < Int(UInt16.max) else { return nil }
    var places = [UInt16](repeating: 0, count: Self.room(entries.count))
    entries.lend { entries in
      for index in 0..<entries.count {
        var place = Self.hash(entries.key(index)) & (places.count - 1)
        while places[place] != 0 { place = (place + 1) & (places.count - 1) }
        places[place] = UInt16(index + 1)
      }
    }
    self.places = places
  }

  /// About what the table of so many entries takes in memory.
  package static func size(_ count: Int) -> Int { 2 * room(count) }

  /// The size of the table: the smallest power of two that is at least twice the number of entries.
  private static func room(_ count: Int) -> Int {
    1 << (Int.bitWidth - max(7, 2 * count - 1).leadingZeroBitCount)
  }

  private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
    Int(truncatingIfNeeded: XXHash64.hash(key))
  }

  /// The index of the entry with a key.
  package func find(_ key: UnsafeRawBufferPointer, in entries: borrowing EntryList.Lent) -> Int? {
    var place = Self.hash(key) & (places.count - 1)
    while places[place] != 0 {
      let index = Int(places[place]) - 1
      if compareBytes(entries.key(index), key) == 0 { return index }
      place = (place + 1) & (places.count - 1)
    }
    return nil
  }
}
