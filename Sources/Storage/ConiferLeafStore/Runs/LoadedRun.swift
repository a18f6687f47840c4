package import ConiferKeyValue

/// A run in memory, while a commit changes it.
package struct LoadedRun {
  package let storeKey: Bytes
  package let separator: Bytes
  package let isCut: Bool
  /// Its number, or nil when it was never stored.
  package let number: UInt64?
  package var entries = EntryList()
  /// How many entries at the front are unchanged.
  package var untouched = 0
  /// How many entries are stored.
  package var storedCount = 0
  /// Bytes of the stored run, without its deltas.
  package var storedSize = 0
  /// Leaves and uncompressed bytes that are counted for the run with its deltas.
  package var countedLeaves = 0
  package var countedRaw = RawBytes()
  package var deltas: [(key: Bytes, size: Int)] = []
  package var changes = RunChanges()
  package var isDirty = false

  /// Whether entries were only appended, and the run has no deltas.
  package var hasOnlyGrown: Bool { storedCount > 0 && untouched == storedCount && deltas.isEmpty }
}

/// The changes of a run since it was loaded, as long as a delta can express them.
package struct RunChanges {
  package private(set) var list: [EntryChange] = []
  package private(set) var weight = 0
  /// Whether so much changed that the run must be rewritten.
  package private(set) var needsRewrite = false

  package mutating func requireRewrite() {
    needsRewrite = true
    list = []
  }

  /// Records one changed entry: the old one, the new one, or both.
  ///
  /// - Parameter limit: the weight above which the run is rewritten instead.
  package mutating func record(
    _ entries: EntryList, _ old: Int?, _ others: EntryList, _ new: Int?, limit: Int
  ) {
    if let new {
      weight += others.keyRange(new).count + others.valueRange(new).count + 4
    } else if let old {
      weight += entries.keyRange(old).count + 3
    }
    guard !needsRewrite else { return }
    if weight > limit {
      requireRewrite()
    } else if let new {
      list.append(.put(others[new]))
    } else if let old {
      list.append(.delete(entries.key(old)))
    }
  }

  /// Records entries that are added and replace nothing.
  package mutating func record(_ others: EntryList, _ new: Range<Int>, limit: Int) {
    weight += others.size(new) + 4 * new.count
    guard !needsRewrite else { return }
    if weight > limit {
      requireRewrite()
    } else {
      list += new.map { .put(others[$0]) }
    }
  }
}
