@_spi(Stores) package import ConiferKeyValue
import Synchronization

/// A commit in the making: edits laid over a frozen view, which reads then see.
///
/// It counts what each tree's records take, edit by edit, so that usage is exact without a scan.
package final class LeafTransaction: LeafView, @unchecked Sendable {
  // Unchecked: made, used and dropped on the store's thread alone.

  /// Everything that a failed commit of a group puts back.
  package struct State {
    /// By space: a value, or nil for a deleted key.
    package var overlays: [Space: SortedBytes<Bytes?>] = [:]
    /// By space: ranges that were cleared, of which nothing below the overlay is left.
    package var cleared: [Space: ClearedRanges] = [:]
    package var usage: [TreeID: UsageRow] = [:]
    package var isChanged = false
    /// What the layer above notes of the commit.
    package var notes: (any Sendable)?
    /// How many bytes of records came, less those that went.
    package var growth = 0

    /// How many records are changed.
    package var editCount: Int { overlays.values.reduce(0) { $0 + $1.count } }
  }

  package let base: LeafSnapshot
  package var state = State()
  /// How runs are cut and packed, with what this commit learns.
  package var shape: RunShape
  /// Whether it is a step towards taking less space.
  package var frees = false
  private var editors: [TreeID: RunEditor] = [:]

  /// A commit in the making on an open snapshot.
  package init(_ base: LeafSnapshot) {
    self.base = base
    shape = base.leaves.shape.withLock { $0 }
  }

  /// What keeps something in step with the leaves of a tree; nil when nothing does.
  func follower(_ tree: TreeID) throws(StoreError) -> (any LeafFollower)? {
    try leaves.findFollower(self, tree)
  }

  package var leaves: LeafStore { base.leaves }
  package var snapshot: LeafSnapshot? { nil }

  // MARK: Leaves

  /// What changes the leaves of a tree; what it changed is written by `flush`.
  package func editor(_ tree: TreeID) -> RunEditor {
    if let editor = editors[tree] { return editor }
    let editor = RunEditor(self, tree)
    editors[tree] = editor
    return editor
  }

  /// Writes what was changed of all trees' leaves into the commit.
  package func flush() throws(StoreError) {
    for tree in editors.keys.sorted() { try flush(tree) }
  }

  /// Writes what was changed of a tree's leaves into the commit.
  package func flush(_ tree: TreeID) throws(StoreError) {
    try editors.removeValue(forKey: tree)?.flush()
  }

  /// Leaves what was changed of a tree's leaves, which are all gone.
  package func dropChanges(_ tree: TreeID) { editors[tree] = nil }

  /// Takes back what was changed since a state.
  package func restore(_ saved: State) {
    state = saved
    editors = [:]
  }

  // MARK: The batch

  /// Edits for the store, each key once.
  package func batch() -> Batch {
    var batch = Batch()
    batch.frees = frees || state.growth < 0
    let spaces = Set(state.overlays.keys).union(state.cleared.keys)
    for space in spaces.sorted(by: { $0.id < $1.id }) {
      // Before the edits: what was put there after a clear stays.
      for range in state.cleared[space]?.ranges ?? [] {
        batch.clear(space, from: range.from, to: range.to)
      }
      state.overlays[space]?.forEach { key, value in
        if let value { batch.put(space, key, value) } else { batch.delete(space, key) }
      }
    }
    return batch
  }

  // MARK: Edits

  /// Seals a payload and stores it under a key; an equal one is not written again.
  package func put(_ space: Space, _ key: Bytes, payload: Bytes) throws(StoreError) {
    try put(space, key, value: Record.seal(space, key, payload))
  }

  /// Stores a sealed value under a key; an equal one is not written again.
  package func put(_ space: Space, _ key: Bytes, value: Bytes) throws(StoreError) {
    let old = try self.value(space, key)
    if old == value { return }
    if let old {
      try count(space, key, bytes: value.count - old.count)
    } else {
      try count(space, key, bytes: 1 + key.count + value.count)
    }
    set(space, key, value)
  }

  /// Removes a key; does nothing if it is absent.
  package func delete(_ space: Space, _ key: Bytes) throws(StoreError) {
    guard let size = try size(space, key) else { return }
    try count(space, key, bytes: -(1 + key.count + size))
    set(space, key, nil)
  }

  /// The size of a value, readable or not.
  private func size(_ space: Space, _ key: Bytes) throws(StoreError) -> Int? {
    do throws(StoreError) {
      return try get(space, key) { $0.byteCount }
    } catch {
      guard error.code == .damaged else { throw error }
      var found: Int?
      try walkKeys(space, .atOrAfter(key)) { other, size in
        if other.equals(key) { found = size }
        return .stop
      }
      return found
    }
  }

  /// Removes every key that begins with a prefix, as a range down to the store.
  ///
  /// - Parameter isCounted: whether usage is kept; only who forgets the tree's usage does without.
  package func deleteAll(_ space: Space, prefix: Bytes, isCounted: Bool = true) throws(StoreError) {
    let end = StoreKey.end(of: prefix) ?? prefix + Bytes(repeating: 0xFF, count: 512)
    if isCounted {
      // By their sizes alone: what is removed need not be readable.
      var (keys, bytes) = (0, 0)
      try walkKeys(space, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix) else { return .stop }
        keys += 1
        bytes += 1 + key.byteCount + size
        return .next
      }
      guard keys > 0 else { return }
      try count(space, prefix, bytes: -bytes)
    } else if try self.keys(space, prefix: prefix, limit: 1).isEmpty {
      return
    }
    state.overlays[space, default: SortedBytes()].removeAll(from: prefix, to: end)
    state.cleared[space, default: ClearedRanges()].add(from: prefix, to: end)
    state.isChanged = true
  }

  private func set(_ space: Space, _ key: Bytes, _ value: Bytes?) {
    state.overlays[space, default: SortedBytes()][key] = .some(value)
    state.isChanged = true
  }

  private func count(_ space: Space, _ key: Bytes, bytes: Int) throws(StoreError) {
    state.growth.add(bytes)
    guard space != Spaces.usage else { return }
    try changeUsage(StoreKey.tree(key)) { $0.bytes[space.id, default: 0] += bytes }
  }

  /// Changes what is counted for a tree where it lies: a copy of a row takes longer than the change.
  package func changeUsage<R>(
    _ tree: TreeID, _ body: (inout UsageRow) -> R
  ) throws(StoreError) -> R {
    if state.usage[tree] == nil { state.usage[tree] = try UsageRow.read(self, tree) }
    return body(&state.usage[tree, default: UsageRow()])
  }

  /// Adds to the counted leaves and uncompressed bytes of a tree.
  package func countTree(_ tree: TreeID, leaves: Int, raw: RawBytes) throws(StoreError) {
    guard leaves != 0 || raw != RawBytes() else { return }
    try changeUsage(tree) { row in
      row.leaves += leaves
      row.raw = row.raw + raw
    }
  }

  /// Adds to the counted queries of a tree.
  package func countQueries(_ tree: TreeID, _ change: Int) throws(StoreError) {
    try changeUsage(tree) { $0.queries += change }
  }

  /// A number for a new run of a tree.
  ///
  /// - Throws: `tooLarge` when all were given.
  package func nextRunNumber(_ tree: TreeID) throws(StoreError) -> UInt64 {
    let last = try usage(tree).nextRun - 1
    let number = try Numbers.next(after: last, last: Numbers.lastRun, "runs of a tree")
    try changeUsage(tree) { $0.nextRun = number + 1 }
    return number
  }

  /// Replaces what was counted for a tree, after a recount.
  package func setUsage(_ tree: TreeID, _ row: UsageRow) {
    state.usage[tree] = row
    state.isChanged = true
  }

  /// Forgets what was counted for a tree whose records are all gone.
  package func forgetUsage(_ tree: TreeID) throws(StoreError) {
    try delete(Spaces.usage, StoreKey.prefix(tree))
    state.usage[tree] = nil
  }

  /// What a tree's records take, with the edits so far.
  package func usage(_ tree: TreeID) throws(StoreError) -> UsageRow {
    if let row = state.usage[tree] { return row }
    let row = try UsageRow.read(self, tree)
    state.usage[tree] = row
    return row
  }

  /// Writes the usage of the trees that changed; the last step before `batch()`.
  package func writeUsage() throws(StoreError) {
    for (tree, row) in state.usage {
      try put(Spaces.usage, StoreKey.prefix(tree), payload: row.payload)
    }
  }

  // MARK: Reads

  package func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R?
  {
    if let edited = state.overlays[space]?[key] {
      return edited.map { read($0.span.bytes) }
    }
    if state.cleared[space]?.contains(key) == true { return nil }
    return try base.get(space, key, read)
  }

  package func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    guard let merged = merged(space) else { return try base.walk(space, origin, visit) }
    try merged.run(origin, visit)
  }

  package func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    guard let merged = merged(space) else { return try base.walkKeys(space, origin, visit) }
    try merged.runKeys(origin, visit)
  }

  /// Those that the store holds: a commit in the making adds none.
  package func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try base.walkLocked(space, origin, visit)
  }

  /// A walk over the edits of a space, or nil when there are none.
  private func merged(_ space: Space) -> MergedWalk? {
    let overlay = state.overlays[space] ?? SortedBytes()
    let cleared = state.cleared[space] ?? ClearedRanges()
    guard !overlay.isEmpty || !cleared.ranges.isEmpty else { return nil }
    return MergedWalk(base: base, overlay: overlay, cleared: cleared, space: space)
  }

  package func close() { base.close() }
}

/// Keeps something in step with the leaves of a tree, as an index.
package protocol LeafFollower: AnyObject {
  /// Takes note of the leaves in `low ..< high`, before others take their place.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError)
  /// Follows, once all changes are made.
  func flush(_ editor: RunEditor) throws(StoreError)
}
