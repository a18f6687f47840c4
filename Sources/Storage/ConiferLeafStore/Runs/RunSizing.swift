package import ConiferKeyValue

/// How large runs are cut: so that each fills the value size that the store keeps best. The ratio of
/// compression that this needs is learnt as runs are written.
package struct RunSizing: Sendable {
  /// No run holds more than this before compression, so that reading one leaf stays cheap.
  package static let largestRaw = 16 << 10
  /// The same for a run that is packed with a dictionary: zstd is faster then, and better filled
  /// pages of the store pay for what is left (13 % of SQLite's on a chat).
  package static let largestRawWithDictionary = 20 << 10
  /// A leaf above this stands in a run of its own.
  package static let loneLeaf = 64 << 10

  /// The largest stored value that the store keeps without waste.
  package let bestStored: Int
  /// How hard runs are packed; each effort has a ratio of its own.
  package var effort = Codec.Effort.quick
  private var quickRatio = 2.0
  private var thoroughRatio = 2.0

  /// - Parameter packs: whether new runs are packed.
  package init(_ traits: StoreTraits, packs: Bool) {
    bestStored = min(max(traits.bestValueSize, 1024), 64 << 10)
    if !packs { (quickRatio, thoroughRatio) = (1, 1) }
  }

  private var ratio: Double {
    get { effort == .quick ? quickRatio : thoroughRatio }
    set { if effort == .quick { quickRatio = newValue } else { thoroughRatio = newValue } }
  }

  /// How many bytes of body a run should hold before compression.
  package var rawTarget: Int { rawTarget(atMost: Self.largestRaw) }

  private func rawTarget(atMost largest: Int) -> Int {
    min(largest, max(2048, Int(Double(bestStored) * 0.94 * ratio)))
  }

  /// How much of what is left the next run takes, before compression.
  ///
  /// Where the store's page size is the limit, runs are filled one by one, and the next commit that appends
  /// fills the last one. Otherwise the rest is divided evenly.
  private func share(of left: Int, atMost largest: Int) -> Int {
    let target = rawTarget(atMost: largest)
    if left <= target { return left }
    return target < largest ? target : left / ((left + target - 1) / target)
  }

  /// Learns from a run that was packed.
  private mutating func learn(_ packed: RunHead.Packed) {
    guard packed.rawCount > 1024, packed.storedSize > 0 else { return }
    let seen = min(8, Double(packed.rawCount) / Double(packed.storedSize))
    ratio += (seen - ratio) * 0.2
  }

  /// Whether a stored run is so full that entries behind it go to new runs without rewriting it: three
  /// quarters full where runs are filled, half full where they are divided evenly.
  package func isFull(stored: Int, raw: Int) -> Bool {
    if stored * 4 >= bestStored * 3 { return true }
    return rawTarget < Self.largestRaw ? raw * 4 >= rawTarget * 3 : raw * 2 >= rawTarget
  }

  /// Packs entries into runs that the store keeps without waste, large leaves alone.
  package mutating func pack(
    _ entries: EntryList, _ range: Range<Int>, _ packing: Packing
  ) -> [RunHead.Packed] {
    var runs: [RunHead.Packed] = []
    var start = range.lowerBound
    for index in range where entries.valueRange(index).count > Self.loneLeaf {
      runs += self.runs(entries, start..<index, packing)
      runs.append(RunHead.Packed(entries, index..<(index + 1), packing))
      start = index + 1
    }
    return runs + self.runs(entries, start..<range.upperBound, packing)
  }

  private mutating func runs(
    _ entries: EntryList, _ range: Range<Int>, _ packing: Packing
  ) -> [RunHead.Packed] {
    var runs: [RunHead.Packed] = []
    var start = range.lowerBound
    let weights = Weights(entries, range)
    while start < range.upperBound {
      let largest =
        packing.dictionary == nil ? Self.largestRaw : Self.largestRawWithDictionary
      let fills = rawTarget(atMost: largest) < largest
      let left = weights.left(from: start)
      var share = self.share(of: left, atMost: largest)
      var end = weights.end(from: start, share)
      var packed = RunHead.Packed(entries, start..<end, packing)
      // A run that came out too large is cut shorter; the next one gets the rest.
      var attempts = 0
      while packed.storedSize > bestStored, packed.range.count > 1, attempts < 4 {
        let isLast = end == range.upperBound
        let fit = Double(share) * 0.96 * Double(bestStored) / Double(packed.storedSize)
        share = isLast && !fills ? min(left / 2, Int(fit)) : Int(fit)
        end = weights.end(from: start, share)
        packed = RunHead.Packed(entries, start..<end, packing)
        attempts += 1
      }
      learn(packed)
      runs.append(packed)
      start = end
    }
    return runs
  }
}

/// What entries weigh together, from any of them on.
private struct Weights {
  private let range: Range<Int>
  private let sums: [Int]

  init(_ entries: EntryList, _ range: Range<Int>) {
    self.range = range
    sums = entries.weights(range)
  }

  /// What the entries from one on weigh.
  func left(from start: Int) -> Int { sums[range.count] - sums[start - range.lowerBound] }

  /// Where a piece of about a weight ends; it holds one entry at least.
  func end(from start: Int, _ share: Int) -> Int {
    let first = start - range.lowerBound
    // An entry that passes the share by more than half of itself goes to the next piece.
    let most = 2 * (sums[first] + share) + 1
    var low = first + 1
    var high = range.count
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] + sums[middle + 1] > most { high = middle } else { low = middle + 1 }
    }
    return range.lowerBound + low
  }
}
