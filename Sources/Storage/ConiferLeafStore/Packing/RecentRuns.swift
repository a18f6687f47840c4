package import ConiferKeyValue

/// How well the last runs were packed: a sum in which older runs count less and less.
package struct RecentRuns: Equatable, Sendable {
  /// When the sum exceeds this many bytes before compression, it is halved.
  package static let horizon = 4 << 20
  /// Smaller bodies pack worse, whatever the dictionary.
  package static let smallest = 2 << 10

  /// Bytes of bodies before compression.
  package var raw = 0
  /// Bytes of the same bodies packed.
  package var packed = 0

  package init(raw: Int = 0, packed: Int = 0) {
    self.raw = raw
    self.packed = packed
  }

  /// Bytes before compression for one that was packed.
  package var ratio: Double { packed > 0 ? Double(raw) / Double(packed) : 1 }

  package mutating func add(raw: Int, packed: Int) {
    guard raw >= Self.smallest else { return }
    self.raw += raw
    self.packed += packed
    if self.raw > Self.horizon {
      self.raw /= 2
      self.packed /= 2
    }
  }
}

extension LeafTransaction {
  /// Counts a run that was written.
  package func countRun(
    _ tree: TreeID, _ run: RunHead.Packed, _ packing: Packing
  ) throws(StoreError) {
    try countTree(tree, leaves: run.range.count, raw: RawBytes(runs: run.rawCount))
    try changeUsage(tree) { row in
      // A run that was packed without the dictionary says nothing about the dictionary's quality.
      guard row.newestDictionary == (packing.dictionary?.number ?? 0) else { return }
      row.recent.add(raw: run.rawCount, packed: run.body.count)
    }
  }
}
