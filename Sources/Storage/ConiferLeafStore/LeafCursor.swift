package import ConiferKeyValue

/// The runs of one tree, in a snapshot or in a transaction.
package protocol RunSource {
  /// Reads leaves that are stored in chunks.
  var reader: RunReader { get }
  /// The run that a path key belongs to; nil when all runs begin after it.
  func foundRun(covering key: Bytes) throws(StoreError) -> FoundRun?
  /// The run after another one, or the first.
  func foundRun(after run: FoundRun?) throws(StoreError) -> FoundRun?
  /// The run before another one.
  func foundRun(before run: FoundRun) throws(StoreError) -> FoundRun?
  /// The current entries of a run. A `RunEditor` keeps each run that is asked for in memory until
  /// it is flushed, so leaves that are only read are read through its `EditedRuns`.
  func entries(_ run: FoundRun) throws(StoreError) -> EntryList
}

/// A run that was found and is still to be read.
package enum FoundRun {
  case stored(RunHead)
  /// The run before all others, which a transaction has begun and nobody has stored yet.
  case unstored(storeKey: Bytes)

  /// Its key in the store.
  package var storeKey: Bytes {
    switch self {
    case .stored(let head): head.storeKey
    case .unstored(let storeKey): storeKey
    }
  }

  /// Where its path keys begin, as of `RunHead`.
  package var separator: Bytes {
    switch self {
    case .stored(let head): head.separator
    case .unstored: []
    }
  }

  /// The head of a stored one.
  package var head: RunHead? {
    guard case .stored(let head) = self else { return nil }
    return head
  }
}

/// A position among the leaves of one tree, in a range of path keys, in their order.
///
/// It reads a run when it comes to one of its leaves, and no run outside of the range. It applies a
/// run's deltas. It throws `damaged` for a run whose leaves do not fit its position among the runs
/// that the cursor sees.
package struct LeafCursor<Runs: RunSource> {
  private let runs: Runs
  private let low: Bytes
  private let high: Bytes
  /// Counts the runs that are read; nil when nobody asks.
  private let meter: ReadMeter?
  /// The run that was read last. It is nil before the first move, and once the cursor went past the last leaf;
  /// a `seek` that finds no leaf in this run leaves it.
  package private(set) var run: FoundRun?
  /// Its entries.
  package private(set) var entries = EntryList()
  /// Those of them that are in the range.
  package private(set) var range = 0..<0
  /// The entry that the cursor is at.
  package private(set) var index = 0

  /// A cursor over the leaves in `low ..< high`; it is at none of them yet.
  package init(_ runs: Runs, _ low: Bytes, _ high: Bytes, _ meter: ReadMeter? = nil) {
    self.runs = runs
    self.low = low
    self.high = high
    self.meter = meter
  }

  /// The path key that the cursor is at.
  package var key: Bytes { entries.key(index) }

  // MARK: Moving

  /// Moves to the first leaf; false when there is none.
  package mutating func first() throws(StoreError) -> Bool { try seek(low) }

  /// Moves to the last leaf; false when there is none.
  package mutating func last() throws(StoreError) -> Bool {
    try goBack(from: try runs.foundRun(covering: high), behind: nil)
  }

  /// Moves to the first leaf at or after a path key of the range; false when there is none.
  ///
  /// Runs between are not read.
  package mutating func seek(_ key: Bytes) throws(StoreError) -> Bool {
    guard bytesPrecede(key, high) else { return end() }
    if let run, let last = entries.indices.last, compareBytes(run.separator, key) <= 0,
      entries.compareKey(last, key) >= 0
    {
      index = max(range.lowerBound, entries.lowerBound(key))
      return index < range.upperBound
    }
    if let found = try runs.foundRun(covering: key) {
      try load(found)
      index = max(range.lowerBound, entries.lowerBound(key))
      if index == 0, bytesPrecede(found.separator, key) { try checkGap(found) }
      return index < range.upperBound ? true : try nextRun()
    }
    return try firstLeaf(from: try runs.foundRun(after: nil))
  }

  /// What a search for one leaf found.
  package enum Found {
    /// The cursor is at the leaf.
    case leaf
    /// There is none, nor any up to a key; nil up to the end.
    case gap(to: Bytes?)
    /// There is none, and how many leaves are missing is not known without another run.
    case nothing
  }

  /// Searches the leaf with a path key of the range. No run is read but the one that the key belongs to.
  package mutating func find(_ key: Bytes) throws(StoreError) -> Found {
    let isHere =
      if let run, let last = entries.indices.last {
        compareBytes(run.separator, key) <= 0 && entries.compareKey(last, key) >= 0
      } else {
        false
      }
    if !isHere {
      guard let found = try runs.foundRun(covering: key) else { return .nothing }
      try load(found)
    }
    index = entries.lowerBound(key)
    guard let run else { return .nothing }
    if index == 0, bytesPrecede(run.separator, key) { try checkGap(run) }
    guard index == entries.count else {
      return entries.compareKey(index, key) == 0 ? .leaf : .gap(to: self.key)
    }
    guard let next = try checkedRun(after: run) else { return .gap(to: nil) }
    return next.head?.isDamaged == false ? .gap(to: next.separator) : .nothing
  }

  /// Moves to the next leaf; false when there is none.
  package mutating func next() throws(StoreError) -> Bool {
    index += 1
    return index < range.upperBound ? true : try nextRun()
  }

  /// Moves to the first leaf of the next run; false when there is none.
  package mutating func nextRun() throws(StoreError) -> Bool {
    // When entries of this run lie after the range, no later run has any in it.
    guard let run, range.upperBound == entries.count else { return end() }
    return try firstLeaf(from: try checkedRun(after: run))
  }

  /// Moves to the leaf before; false when there is none.
  package mutating func previous() throws(StoreError) -> Bool {
    index -= 1
    if index >= range.lowerBound { return true }
    guard let run, range.lowerBound == 0, bytesPrecede(low, run.separator) else { return end() }
    return try goBack(from: try runs.foundRun(before: run), behind: run)
  }

  private mutating func firstLeaf(from run: FoundRun?) throws(StoreError) -> Bool {
    var run = run
    while let here = run, bytesPrecede(here.separator, high) {
      try load(here)
      index = range.lowerBound
      if !range.isEmpty { return true }
      if range.upperBound < entries.count { break }
      run = try checkedRun(after: here)
    }
    return end()
  }

  private mutating func goBack(
    from run: FoundRun?, behind next: FoundRun?
  ) throws(StoreError) -> Bool {
    var (run, next) = (run, next)
    while let here = run {
      // A run that begins at the end of the range has no leaves in it.
      if bytesPrecede(here.separator, high) {
        try load(here)
        try checkEnd(next)
        index = range.upperBound - 1
        if !range.isEmpty { return true }
        if range.lowerBound > 0 { break }
        if range.upperBound == 0 { try checkGap(here) }
      }
      guard bytesPrecede(low, here.separator) else { break }
      next = here
      run = try runs.foundRun(before: here)
    }
    return end()
  }

  private mutating func end() -> Bool {
    run = nil
    return false
  }

  private mutating func load(_ found: FoundRun) throws(StoreError) {
    if run?.storeKey == found.storeKey { return }
    if let head = found.head { meter?.count(head) }
    entries = try runs.entries(found)
    run = found
    if let first = entries.indices.first, entries.compareKey(first, found.separator) < 0 {
      throw Damage.error(Spaces.runs, found.storeKey)
    }
    let start = compareBytes(low, found.separator) <= 0 ? 0 : entries.lowerBound(low)
    range = start..<entries.lowerBound(high, from: start)
  }

  // MARK: Checking

  /// The run after the current one, which must end before it.
  private func checkedRun(after run: FoundRun) throws(StoreError) -> FoundRun? {
    let next = try runs.foundRun(after: run)
    try checkEnd(next)
    return next
  }

  /// Throws `damaged` when the current run has leaves that belong to the next one.
  private func checkEnd(_ next: FoundRun?) throws(StoreError) {
    guard let head = run?.head, let next, next.head?.isDamaged != true,
      let last = entries.indices.last, entries.compareKey(last, next.separator) >= 0
    else { return }
    throw Damage.error(Spaces.runs, try runs.reader.misplaced(head)?.storeKey ?? head.storeKey)
  }

  /// Throws `damaged` when the current run is misplaced, so that it hides leaves before its first
  /// one.
  ///
  /// A run's separator is a prefix of its first leaf's key. When its first key does not begin with
  /// it, either that leaf was deleted or the run is stored under a wrong key; the neighbouring runs
  /// decide which.
  private func checkGap(_ run: FoundRun) throws(StoreError) {
    guard let head = run.head, let first = entries.indices.first,
      !entries.withKey(first, { $0.starts(with: run.separator) })
    else { return }
    let reader = runs.reader
    var found = try reader.misplaced(head)
    if found == nil, let before = try reader.run(before: head.storeKey), !before.isDamaged {
      found = try reader.misplaced(before)
    }
    if let found { throw Damage.error(Spaces.runs, found.storeKey) }
  }
}

extension RunReader: RunSource {
  package var reader: RunReader { self }

  package func foundRun(covering key: Bytes) throws(StoreError) -> FoundRun? {
    try run(covering: key).map { .stored($0) }
  }

  package func foundRun(after found: FoundRun?) throws(StoreError) -> FoundRun? {
    try run(after: found?.storeKey).map { .stored($0) }
  }

  package func foundRun(before found: FoundRun) throws(StoreError) -> FoundRun? {
    try run(before: found.storeKey).map { .stored($0) }
  }

  package func entries(_ run: FoundRun) throws(StoreError) -> EntryList {
    guard let head = run.head else { return EntryList() }
    return try merged(head)
  }
}

extension RunEditor: RunSource {
  package func foundRun(covering key: Bytes) throws(StoreError) -> FoundRun? {
    if let head = try run(covering: key) { return .stored(head) }
    return hasUnstoredFirst ? .unstored(storeKey: StoreKey.prefix(tree)) : nil
  }

  package func foundRun(after run: FoundRun?) throws(StoreError) -> FoundRun? {
    if run == nil, hasUnstoredFirst { return .unstored(storeKey: StoreKey.prefix(tree)) }
    guard let run else { return try reader.run(after: nil).map { .stored($0) } }
    return try self.run(after: run.storeKey).map { .stored($0) }
  }

  package func foundRun(before run: FoundRun) throws(StoreError) -> FoundRun? {
    if let head = try reader.run(before: run.storeKey) { return .stored(head) }
    let first = StoreKey.prefix(tree)
    return hasUnstoredFirst && run.storeKey != first ? .unstored(storeKey: first) : nil
  }

  /// The entries of a run with the edits so far; the run stays in memory until the editor is flushed.
  package func entries(_ run: FoundRun) throws(StoreError) -> EntryList {
    try load(run.storeKey).entries
  }
}

/// The leaves of an editor with the edits so far, for reading only: runs that the editor has not
/// loaded are not kept in memory.
package struct EditedRuns: RunSource {
  private let editor: RunEditor

  package init(_ editor: RunEditor) { self.editor = editor }

  package var reader: RunReader { editor.reader }

  package func foundRun(covering key: Bytes) throws(StoreError) -> FoundRun? {
    try editor.foundRun(covering: key)
  }

  package func foundRun(after run: FoundRun?) throws(StoreError) -> FoundRun? {
    try editor.foundRun(after: run)
  }

  package func foundRun(before run: FoundRun) throws(StoreError) -> FoundRun? {
    try editor.foundRun(before: run)
  }

  package func entries(_ run: FoundRun) throws(StoreError) -> EntryList {
    try editor.peek(run)
  }
}
