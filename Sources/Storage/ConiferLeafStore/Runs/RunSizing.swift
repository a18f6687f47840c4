package import ConiferKeyValue

/// Cuts leaves into runs of the size that the store keeps best, and chooses their keys. The
/// compression ratio that this needs is measured on the runs that are written.
package struct RunSizing: Sendable {
  /// The maximum of a run before compression, so that reading one leaf stays cheap.
  package static let largestRaw = 16 << 10
  /// The maximum for a run that is packed with a dictionary: zstd is faster then, and fuller pages
  /// of the store make up for the remaining cost (13 % of SQLite's on a chat).
  package static let largestRawWithDictionary = 20 << 10
  /// The best size of a run whose leaves are read one by one: with its key it fills a page of
  /// SQLite, which has 4,061 bytes for records.
  private static let single = 4000
  /// A larger leaf is stored in a run of its own.
  package static let loneLeaf = 64 << 10

  /// Whether leaves are mostly read one by one, so that less should be read and unpacked for one.
  package var favorsPointReads = false
  private let largest: Int
  /// The effort with which runs are packed; each effort has its own ratio.
  package var effort = Codec.Effort.quick
  private var quickRatio = 2.0
  private var thoroughRatio = 2.0

  /// - Parameter packs: whether new runs are packed.
  package init(_ traits: StoreTraits, packs: Bool) {
    largest = min(max(traits.bestValueSize, 1024), 64 << 10)
    if !packs { (quickRatio, thoroughRatio) = (1, 1) }
  }

  /// The largest stored value that the store keeps without waste.
  package var bestStored: Int { favorsPointReads ? min(largest, Self.single) : largest }

  private var ratio: Double {
    get { effort == .quick ? quickRatio : thoroughRatio }
    set { if effort == .quick { quickRatio = newValue } else { thoroughRatio = newValue } }
  }

  /// How many bytes of body a run should hold before compression.
  package var rawTarget: Int { rawTarget(atMost: Self.largestRaw) }

  private func rawTarget(atMost largest: Int) -> Int {
    min(largest, max(2048, Int(Double(bestStored) * 0.94 * ratio)))
  }

  /// How many of the remaining bytes, before compression, the next run takes.
  ///
  /// Where the store's page size is the limit, each run is filled completely, and the next commit
  /// that appends fills the last one. Otherwise the rest is divided evenly.
  private func share(of left: Int, atMost largest: Int) -> Int {
    let target = rawTarget(atMost: largest)
    if left <= target { return left }
    return target < largest ? target : left / ((left + target - 1) / target)
  }

  /// Learns from a run that was packed.
  private mutating func updateRatio(_ packed: RunHead.Packed) {
    guard packed.rawCount > 1024, packed.storedSize > 0 else { return }
    let seen = min(8, Double(packed.rawCount) / Double(packed.storedSize))
    ratio += (seen - ratio) * 0.2
  }

  /// Whether a stored run is so full that entries after it go to new runs without rewriting it:
  /// three quarters full when runs are filled completely, half full when the rest is divided
  /// evenly.
  package func isFull(stored: Int, raw: Int) -> Bool {
    if stored * 4 >= bestStored * 3 { return true }
    return rawTarget < Self.largestRaw ? raw * 4 >= rawTarget * 3 : raw * 2 >= rawTarget
  }

  /// Cuts a changed run into pieces that the store keeps without waste, each with the key that it is stored under.
  ///
  /// - Parameters:
  ///   - first: the index of the first entry to cut. At 0 the whole run is cut, and its first piece
  ///     keeps its key unless its first leaf was removed; all other pieces get keys after it.
  ///   - next: the run after this one.
  ///   - cutLength: as of `LeafStore`.
  /// - Returns: nil when no ordinal is left between cut keys.
  mutating func split(
    _ run: LoadedRun, from first: Int, before next: RunHead?, _ packing: Packing, cutLength: Int
  ) -> [RunPiece]? {
    let packed = pack(run.entries, first..<run.entries.count, packing)
    let own = RunPiece.Key(of: run, cutLength)
    var keys = SplitKeys(own, next, cutLength, splits: packed.count - (first == 0 ? 1 : 0))
    var pieces: [RunPiece] = []
    for piece in packed {
      let start = piece.range.lowerBound
      guard start > 0 else {
        pieces.append(RunPiece(packed: piece, key: own))
        continue
      }
      guard let key = keys.next(run.entries, start) else { return nil }
      pieces.append(RunPiece(packed: piece, key: key))
    }
    return pieces
  }

  /// Packs entries into runs that the store keeps without waste, large leaves alone.
  private mutating func pack(
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
      // A run that is too large after packing is cut shorter; the next run gets the rest.
      var attempts = 0
      while packed.storedSize > bestStored, packed.range.count > 1, attempts < 4 {
        let isLast = end == range.upperBound
        let fit = Double(share) * 0.96 * Double(bestStored) / Double(packed.storedSize)
        share = isLast && !fills ? min(left / 2, Int(fit)) : Int(fit)
        end = weights.end(from: start, share)
        packed = RunHead.Packed(entries, start..<end, packing)
        attempts += 1
      }
      updateRatio(packed)
      runs.append(packed)
      start = end
    }
    return runs
  }
}

/// A part of a run that is stored as a run of its own.
struct RunPiece {
  /// The key of a run in the store.
  struct Key {
    let storeKey: Bytes
    /// The separator when the key is a cut one, else empty.
    let fullSeparator: Bytes

    init(storeKey: Bytes, fullSeparator: Bytes) {
      self.storeKey = storeKey
      self.fullSeparator = fullSeparator
    }

    /// The key under which a changed run is rewritten. A separator that is no longer the beginning
    /// of the first leaf's key is made longer, so that a reader need not check the neighbours.
    init(of run: LoadedRun, _ cutLength: Int) {
      self.init(storeKey: run.storeKey, fullSeparator: run.isCut ? run.separator : [])
      guard !run.isCut, !run.entries.isEmpty else { return }
      let first = run.entries.key(0)
      let shared = commonPrefix(run.separator, first)
      // All leaves before the run sort before its old separator, and so before the new one.
      // A run whose first leaf sorts before its separator is misplaced, and keeps its key.
      guard shared < min(run.separator.count, first.count), first[shared] > run.separator[shared],
        shared + 1 < cutLength
      else { return }
      let prefix = Bytes(run.storeKey.prefix(4))
      self.init(storeKey: prefix + first.prefix(shared + 1), fullSeparator: [])
    }

    /// The ordinal that distinguishes the run from others whose keys are cut to the same bytes; 0
    /// when it has none.
    fileprivate func ordinal(below cut: Bytes) -> UInt64 {
      guard !fullSeparator.isEmpty, storeKey.starts(with: cut) else { return 0 }
      return StoreKey.number(atEndOf: storeKey)
    }
  }

  let packed: RunHead.Packed
  let key: Key
}

/// Assigns keys to the pieces that are split off after a run, in order.
private struct SplitKeys {
  private var last: RunPiece.Key
  /// The run after all of them.
  private let next: RunHead?
  private let cutLength: Int
  /// How many keys are still needed.
  private var left: Int

  init(_ run: RunPiece.Key, _ next: RunHead?, _ cutLength: Int, splits: Int) {
    last = run
    self.next = next
    self.cutLength = cutLength
    left = splits
  }

  /// The key of the piece that begins with an entry; nil when no ordinal is left between cut keys.
  mutating func next(_ entries: EntryList, _ start: Int) -> RunPiece.Key? {
    let key = entries.key(start)
    let shared = commonPrefix(entries.key(start - 1), key)
    let separator = Bytes(key.prefix(shared + 1))
    let prefix = Bytes(last.storeKey.prefix(4))
    defer { left -= 1 }
    guard separator.count >= cutLength else {
      last = RunPiece.Key(storeKey: prefix + separator, fullSeparator: [])
      return last
    }
    let cut = prefix + separator.prefix(cutLength)
    let low = last.ordinal(below: cut)
    let high = next.flatMap { head in
      head.isCut && head.storeKey.starts(with: cut) ? StoreKey.number(atEndOf: head.storeKey) : nil
    }
    // Part of the free ordinals is left for the pieces that follow.
    let step = high.map { ($0 - min($0, low)) / (UInt64(left) + 1) } ?? 1 << 32
    let (ordinal, isOver) = low.addingReportingOverflow(step)
    guard step > 0, !isOver else { return nil }
    last = RunPiece.Key(storeKey: cut + StoreKey.number(ordinal), fullSeparator: separator)
    return last
  }
}

/// The total weight of a range of entries, from each of them on.
private struct Weights {
  private let range: Range<Int>
  private let sums: [Int]

  init(_ entries: EntryList, _ range: Range<Int>) {
    self.range = range
    sums = entries.weights(range)
  }

  /// The total weight from an entry on.
  func left(from start: Int) -> Int { sums[range.count] - sums[start - range.lowerBound] }

  /// The end of a piece of about the given weight; it holds at least one entry.
  func end(from start: Int, _ share: Int) -> Int {
    let first = start - range.lowerBound
    // An entry that exceeds the share by more than half its weight goes to the next piece.
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
