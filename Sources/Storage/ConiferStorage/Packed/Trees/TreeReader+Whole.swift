import ConiferKeyValue
import ConiferTree

/// Reading whole nodes.
extension TreeReader {
  /// Adds the entries in `low ..< high` to a node.
  ///
  /// - Parameter low: the node's own path key.
  func assemble(
    _ low: Bytes, _ high: Bytes, _ assembler: inout NodeAssembler
  ) throws(StoreError) {
    var head = try runs.run(coveringOrAfter: low)
    var isFirst = true
    while let run = head, bytesPrecede(run.separator, high) {
      meter?.note(run)
      switch try entries(run, isFirst ? low : nil) {
      case .leaf(let decoded):
        try add(decoded, low, run, &assembler)
        return
      case .run(let entries):
        if try add(entries, run, low, high, &assembler) { return }
      }
      isFirst = false
      head = try runs.run(after: run.storeKey)
    }
  }

  private enum Content {
    /// The leaf that was looked for.
    case leaf(LeafCodec.Decoded)
    case run(EntryList)
  }

  /// The leaf with a path key when it is in a run, else all entries.
  private func entries(_ run: RunHead, _ key: Bytes?) throws(StoreError) -> Content {
    if let kept = try runs.kept(run) { return .run(kept.entries) }
    let deltas = try runs.deltas(of: run)
    guard deltas.isEmpty else {
      return .run(try runs.entries(run).merged(deltas.flatMap(\.delta.changes)))
    }
    let content: Content? = try run.withCursor(runs.source) { cursor in
      if let key {
        var probe = cursor
        let order = key.withUnsafeBytes { probe.find($0) }
        // A damaged value ends the search as nil; one behind the place is found below.
        if order == 0 { return probe.leaf().map { .leaf($0) } }
      }
      return EntryList(&cursor, size: run.rawCount).map { .run($0) }
    }
    guard let content else { throw Damage.error(Spaces.runs, run.storeKey) }
    return content
  }

  private func add(
    _ decoded: LeafCodec.Decoded, _ key: Bytes, _ run: RunHead, _ assembler: inout NodeAssembler
  ) throws(StoreError) {
    let (leaf, priority) = try whole(decoded, run)
    guard key.withUnsafeBytes({ assembler.add($0, leaf, priority) }) else {
      throw Damage.error(Spaces.runs, run.storeKey)
    }
  }

  /// Adds the entries of one run; true when there is no other in the range.
  private func add(
    _ entries: EntryList, _ run: RunHead, _ low: Bytes, _ high: Bytes,
    _ assembler: inout NodeAssembler
  ) throws(StoreError) -> Bool {
    let first = entries.lowerBound(low)
    if first < entries.count, entries.compareKey(first, low) == 0 {
      guard let decoded = entries.leaf(first) else { throw Damage.error(Spaces.runs, run.storeKey) }
      try add(decoded, low, run, &assembler)
      return true
    }
    let end = entries.lowerBound(high, from: first)
    // Leaves may wait where they fill a good part of what they hold in memory.
    let isLate = order == .realtimeDatabase && (end - first) * 4 >= entries.count
    if isLate { assembler.begin(entries) }
    var failure: StoreError?
    entries.lend { lent in
      var index = first
      while index < end {
        if isLate {
          guard let taken = assembler.addLate(lent, from: index, to: end) else {
            return failure = Damage.error(Spaces.runs, run.storeKey)
          }
          index += taken
          if taken > 0 { continue }
        }
        do throws(StoreError) {
          guard let decoded = lent.leaf(index) else {
            throw Damage.error(Spaces.runs, run.storeKey)
          }
          let (leaf, priority) = try whole(decoded, run)
          guard assembler.add(lent.key(index), leaf, priority) else {
            throw Damage.error(Spaces.runs, run.storeKey)
          }
        } catch { return failure = error }
        index += 1
      }
    }
    if let failure { throw failure }
    return end < entries.count
  }
}
