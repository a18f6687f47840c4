import ConiferKeyValue

/// How large runs should be: what they take when stored decides, learnt as runs are written.
struct RunShape: Sendable {
  /// No run holds more than this before compression, so that reading one leaf stays cheap.
  static let largestRaw = 16 << 10
  /// The same for a run that is packed with a dictionary: zstd is faster then, and better filled
  /// pages of the store pay for what is left (13 % of SQLite's on a chat).
  static let largestRawWithDictionary = 20 << 10
  /// A leaf above this stands in a run of its own.
  static let loneLeaf = 64 << 10

  /// The largest stored value that the store keeps without waste.
  let bestStored: Int
  /// How hard runs are packed; what is learnt of one effort says nothing of the other.
  var effort = Codec.Effort.quick
  private var quickRatio = 2.0
  private var thoroughRatio = 2.0

  init(_ traits: StoreTraits, _ compression: Compression) {
    bestStored = min(max(traits.bestValueSize, 1024), 64 << 10)
    if compression == .none { (quickRatio, thoroughRatio) = (1, 1) }
  }

  private var ratio: Double {
    get { effort == .quick ? quickRatio : thoroughRatio }
    set { if effort == .quick { quickRatio = newValue } else { thoroughRatio = newValue } }
  }

  /// How many bytes of body a run should hold before compression.
  var rawTarget: Int { rawTarget(atMost: Self.largestRaw) }

  private func rawTarget(atMost largest: Int) -> Int {
    min(largest, max(2048, Int(Double(bestStored) * 0.92 * ratio)))
  }

  /// Learns from a run that was packed.
  private mutating func learn(_ packed: RunHead.Packed) {
    guard packed.rawCount > 1024, packed.storedSize > 0 else { return }
    let seen = min(8, Double(packed.rawCount) / Double(packed.storedSize))
    ratio += (seen - ratio) * 0.2
  }

  /// Whether a stored run holds so much that rewriting it together with what comes behind it would
  /// gain little.
  func isFull(stored: Int, raw: Int) -> Bool {
    stored * 4 >= bestStored * 3 || raw * 4 >= rawTarget * 3
  }

  /// Packs entries into runs that the store keeps without waste: evenly, with no tiny tail, large
  /// leaves alone.
  mutating func pack(
    _ entries: EntryList, _ range: Range<Int>, _ packing: Packing
  ) -> [RunHead.Packed] {
    var runs: [RunHead.Packed] = []
    var start = range.lowerBound
    for index in range where entries.valueRange(index).count > Self.loneLeaf {
      runs += evenly(entries, start..<index, packing)
      runs.append(RunHead.Packed(entries, index..<(index + 1), packing))
      start = index + 1
    }
    return runs + evenly(entries, start..<range.upperBound, packing)
  }

  private mutating func evenly(
    _ entries: EntryList, _ range: Range<Int>, _ packing: Packing
  ) -> [RunHead.Packed] {
    var runs: [RunHead.Packed] = []
    var start = range.lowerBound
    var left = entries.weight(range)
    while start < range.upperBound {
      let rawTarget = rawTarget(
        atMost: packing.dictionary == nil ? Self.largestRaw : Self.largestRawWithDictionary)
      let count = max(1, (left + rawTarget - 1) / rawTarget)
      var share = left / count
      var (end, weight) = Self.take(entries, start..<range.upperBound, share)
      var packed = RunHead.Packed(entries, start..<end, packing)
      // What came out larger than the store likes gives entries to the next run.
      var attempts = 0
      while packed.storedSize > bestStored, packed.range.count > 1, attempts < 4 {
        let isLast = end == range.upperBound
        let fit = Double(share) * 0.96 * Double(bestStored) / Double(packed.storedSize)
        share = isLast ? min(left / 2, Int(fit)) : Int(fit)
        (end, weight) = Self.take(entries, start..<range.upperBound, share)
        packed = RunHead.Packed(entries, start..<end, packing)
        attempts += 1
      }
      learn(packed)
      runs.append(packed)
      left -= weight
      start = end
    }
    return runs
  }

  /// Where a piece of about a weight ends, and what it weighs; it holds one entry at least.
  private static func take(
    _ entries: EntryList, _ range: Range<Int>, _ share: Int
  ) -> (end: Int, weight: Int) {
    var weight = 0
    for index in range {
      let next = entries.weight(index)
      if index > range.lowerBound, weight + next / 2 > share { return (index, weight) }
      weight += next
    }
    return (range.upperBound, weight)
  }
}
