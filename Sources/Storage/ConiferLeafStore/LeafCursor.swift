package import ConiferKeyValue

/// Where the runs of one tree are found: in a snapshot, or in a transaction.
package protocol RunSource {
  /// Reads leaves that are stored in chunks.
  var reader: RunReader { get }
  /// The run that a path key belongs to; nil when all runs begin behind it.
  func place(covering key: Bytes) throws(StoreError) -> RunPlace?
  /// The run behind another one, or the first.
  func place(after place: RunPlace?) throws(StoreError) -> RunPlace?
  /// The run in front of another one.
  func place(before place: RunPlace) throws(StoreError) -> RunPlace?
  /// The entries of a run as they are now.
  func entries(_ place: RunPlace) throws(StoreError) -> EntryList
}

/// A run, by its key in the store and the smallest path key that belongs to it.
package struct RunPlace {
  package let storeKey: Bytes
  package let separator: Bytes
  /// The run as it is stored; nil while it never was.
  package var head: RunHead?

  package init(_ head: RunHead) {
    storeKey = head.storeKey
    separator = head.separator
    self.head = head
  }

  /// A run before all others that is not stored yet.
  package init(first storeKey: Bytes) {
    self.storeKey = storeKey
    separator = []
  }
}

/// A position among the leaves of one tree in a range of path keys, in their order.
///
/// It reads a run when it comes to one of its leaves, and no run outside of the range. Deltas are laid
/// over their run. A run whose leaves do not fit its place, as far as the cursor sees, is damaged.
package struct LeafCursor<Runs: RunSource> {
  private let runs: Runs
  private let low: Bytes
  private let high: Bytes
  /// Counts the runs that are read; nil when nobody asks.
  private let meter: ReadMeter?
  /// The run at hand; nil at the end.
  package private(set) var run: RunPlace?
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
    try goBack(from: try runs.place(covering: high), behind: nil)
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
    if let place = try runs.place(covering: key) {
      try load(place)
      index = max(range.lowerBound, entries.lowerBound(key))
      if index == 0, bytesPrecede(place.separator, key) { try checkGap(place) }
      return index < range.upperBound ? true : try nextRun()
    }
    return try goOn(from: try runs.place(after: nil))
  }

  /// Moves to the next leaf; false when there is none.
  package mutating func next() throws(StoreError) -> Bool {
    index += 1
    return index < range.upperBound ? true : try nextRun()
  }

  /// Moves to the first leaf of the next run; false when there is none.
  package mutating func nextRun() throws(StoreError) -> Bool {
    // Where entries lie behind the range, no run behind this one has any in it.
    guard let run, range.upperBound == entries.count else { return end() }
    return try goOn(from: try place(after: run))
  }

  /// Moves to the leaf before; false when there is none.
  package mutating func previous() throws(StoreError) -> Bool {
    index -= 1
    if index >= range.lowerBound { return true }
    guard let run, range.lowerBound == 0, bytesPrecede(low, run.separator) else { return end() }
    return try goBack(from: try runs.place(before: run), behind: run)
  }

  private mutating func goOn(from place: RunPlace?) throws(StoreError) -> Bool {
    var place = place
    while let here = place, bytesPrecede(here.separator, high) {
      try load(here)
      index = range.lowerBound
      if !range.isEmpty { return true }
      if range.upperBound < entries.count { break }
      place = try self.place(after: here)
    }
    return end()
  }

  private mutating func goBack(
    from place: RunPlace?, behind next: RunPlace?
  ) throws(StoreError) -> Bool {
    var (place, next) = (place, next)
    while let here = place {
      // A run that begins at the end of the range has nothing in it.
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
      place = try runs.place(before: here)
    }
    return end()
  }

  private mutating func end() -> Bool {
    run = nil
    return false
  }

  private mutating func load(_ place: RunPlace) throws(StoreError) {
    if run?.storeKey == place.storeKey { return }
    if let head = place.head { meter?.count(head) }
    entries = try runs.entries(place)
    run = place
    if let first = entries.indices.first, entries.compareKey(first, place.separator) < 0 {
      throw Damage.error(Spaces.runs, place.storeKey)
    }
    let start = compareBytes(low, place.separator) <= 0 ? 0 : entries.lowerBound(low)
    range = start..<entries.lowerBound(high, from: start)
  }

  // MARK: Checking

  /// The run behind the one at hand, which must end before it.
  private func place(after place: RunPlace) throws(StoreError) -> RunPlace? {
    let next = try runs.place(after: place)
    try checkEnd(next)
    return next
  }

  /// Fails where the run at hand has leaves that belong to the next one.
  private func checkEnd(_ next: RunPlace?) throws(StoreError) {
    guard let head = run?.head, let next, next.head?.isDamaged != true,
      let last = entries.indices.last, entries.compareKey(last, next.separator) >= 0
    else { return }
    throw Damage.error(Spaces.runs, try runs.reader.misplaced(head)?.storeKey ?? head.storeKey)
  }

  /// Fails where the run at hand hides leaves that stand before its first one.
  ///
  /// A run is named after its first leaf. Where that leaf is gone, or the run stands elsewhere than it was
  /// written, the runs around it tell.
  private func checkGap(_ place: RunPlace) throws(StoreError) {
    guard let head = place.head, let first = entries.indices.first,
      !entries.withKey(first, { $0.starts(with: place.separator) })
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

  package func place(covering key: Bytes) throws(StoreError) -> RunPlace? {
    try run(covering: key).map { RunPlace($0) }
  }

  package func place(after place: RunPlace?) throws(StoreError) -> RunPlace? {
    try run(after: place?.storeKey).map { RunPlace($0) }
  }

  package func place(before place: RunPlace) throws(StoreError) -> RunPlace? {
    try run(before: place.storeKey).map { RunPlace($0) }
  }

  package func entries(_ place: RunPlace) throws(StoreError) -> EntryList {
    guard let head = place.head else { return EntryList() }
    return try merged(head)
  }
}

extension RunEditor: RunSource {
  package func place(covering key: Bytes) throws(StoreError) -> RunPlace? {
    if let head = try reader.run(covering: key) { return RunPlace(head) }
    return hasUnstoredFirst ? RunPlace(first: StoreKey.prefix(tree)) : nil
  }

  package func place(after place: RunPlace?) throws(StoreError) -> RunPlace? {
    if place == nil, hasUnstoredFirst { return RunPlace(first: StoreKey.prefix(tree)) }
    return try reader.run(after: place?.storeKey).map { RunPlace($0) }
  }

  package func place(before place: RunPlace) throws(StoreError) -> RunPlace? {
    if let head = try reader.run(before: place.storeKey) { return RunPlace(head) }
    let first = StoreKey.prefix(tree)
    return hasUnstoredFirst && place.storeKey != first ? RunPlace(first: first) : nil
  }

  /// The entries of a run with the edits so far.
  package func entries(_ place: RunPlace) throws(StoreError) -> EntryList {
    try load(place.storeKey).entries
  }
}
