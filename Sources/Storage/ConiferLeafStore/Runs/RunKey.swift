import ConiferKeyValue

/// The key of a run in the store, and its separator when the key is a cut one.
struct RunKey {
  let storeKey: Bytes
  /// Empty unless the key is cut.
  let fullSeparator: Bytes

  /// The keys under which a changed run is stored: its own, then one for each piece that is split off
  /// behind it. Nil when no ordinal is left between cut keys.
  static func keys(
    of run: LoadedRun, _ pieces: [RunHead.Packed], _ reader: RunReader
  ) throws(StoreError) -> [RunKey]? {
    let prefix = StoreKey.prefix(reader.tree)
    var keys = [
      RunKey(storeKey: run.storeKey, fullSeparator: run.isCut ? run.separator : [])
    ]
    let next = try reader.run(after: run.storeKey)
    let splits = pieces.filter { $0.range.lowerBound > 0 }
    for (index, piece) in splits.enumerated() {
      let key = run.entries.key(piece.range.lowerBound)
      let shared = commonPrefix(run.entries.key(piece.range.lowerBound - 1), key)
      let separator = Bytes(key.prefix(shared + 1))
      if separator.count < reader.cutLength {
        keys.append(RunKey(storeKey: prefix + separator, fullSeparator: []))
        continue
      }
      let cut = prefix + separator.prefix(reader.cutLength)
      let low = keys[index].ordinal(below: cut)
      let high = next.flatMap { head in
        head.isCut && head.storeKey.starts(with: cut)
          ? StoreKey.number(atEndOf: head.storeKey) : nil
      }
      let rest = UInt64(splits.count - index)
      let step = high.map { ($0 - min($0, low)) / (rest + 1) } ?? 1 << 32
      let (ordinal, isOver) = low.addingReportingOverflow(step)
      guard step > 0, !isOver else { return nil }
      keys.append(
        RunKey(storeKey: cut + StoreKey.number(ordinal), fullSeparator: separator))
    }
    return keys
  }

  /// The ordinal that tells the run from others whose keys are cut to the same bytes; 0 where it has none.
  private func ordinal(below cut: Bytes) -> UInt64 {
    guard !fullSeparator.isEmpty, storeKey.starts(with: cut) else { return 0 }
    return StoreKey.number(atEndOf: storeKey)
  }
}
