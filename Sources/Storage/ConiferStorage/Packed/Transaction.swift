import ConiferKeyValue

/// A commit in the making: edits laid over a frozen view, which reads then see.
///
/// It counts what each tree's records take, edit by edit, so that usage is exact without a scan.
final class Transaction: OrderedView, @unchecked Sendable {
  // Unchecked: made, used and dropped on the store's thread alone.

  /// Everything that a failed commit of a group puts back.
  struct State {
    /// By space: a value, or nil for a deleted key.
    var overlays: [UInt8: SortedBytes<Bytes?>] = [:]
    var usage: [TreeID: UsageRow] = [:]
    var isChanged = false
    /// Whether indexes were declared, restarted, or built a part of.
    var changesIndexes = false

    /// How many records are changed.
    var editCount: Int { overlays.values.reduce(0) { $0 + $1.count } }
  }

  let base: any OrderedView
  var state = State()
  /// Whether it is a step towards taking less space.
  var frees = false

  init(_ base: any OrderedView) { self.base = base }

  /// Edits for the store, each key once.
  func batch() -> Batch {
    var batch = Batch()
    batch.frees = frees
    for space in Spaces.all {
      state.overlays[space.id]?.forEach { key, value in
        if let value { batch.put(space, key, value) } else { batch.delete(space, key) }
      }
    }
    return batch
  }

  // MARK: Edits

  /// Seals a payload and stores it under a key; an equal one is not written again.
  func put(_ space: Space, _ key: Bytes, payload: Bytes) throws(StoreError) {
    try put(space, key, value: Record.seal(space, key, payload))
  }

  /// Stores a sealed value under a key; an equal one is not written again.
  func put(_ space: Space, _ key: Bytes, value: Bytes) throws(StoreError) {
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
  func delete(_ space: Space, _ key: Bytes) throws(StoreError) {
    guard let size = try get(space, key, { $0.byteCount }) else { return }
    try count(space, key, bytes: -(1 + key.count + size))
    set(space, key, nil)
  }

  /// Removes every key that begins with a prefix.
  func deleteAll(_ space: Space, prefix: Bytes) throws(StoreError) {
    // By their sizes alone: what is removed need not be readable.
    for (key, size) in try sizes(space, prefix: prefix) {
      try count(space, key, bytes: -(1 + key.count + size))
      set(space, key, nil)
    }
  }

  private func set(_ space: Space, _ key: Bytes, _ value: Bytes?) {
    state.overlays[space.id, default: SortedBytes()][key] = .some(value)
    state.isChanged = true
  }

  private func count(_ space: Space, _ key: Bytes, bytes: Int) throws(StoreError) {
    guard space != Spaces.usage else { return }
    try changeUsage(StoreKey.tree(key)) { $0.bytes[space.id, default: 0] += bytes }
  }

  /// Changes what is counted for a tree where it lies: a copy of a row takes longer than the change.
  func changeUsage<R>(
    _ tree: TreeID, _ body: (inout UsageRow) -> R
  ) throws(StoreError) -> R {
    if state.usage[tree] == nil { state.usage[tree] = try UsageRow.read(self, tree) }
    return body(&state.usage[tree, default: UsageRow()])
  }

  /// Adds to the counted leaves and uncompressed bytes of a tree.
  func countTree(_ tree: TreeID, leaves: Int, raw: RawBytes) throws(StoreError) {
    guard leaves != 0 || raw != RawBytes() else { return }
    try changeUsage(tree) { row in
      row.leaves += leaves
      row.raw = row.raw + raw
    }
  }

  /// Adds to the counted queries of a tree.
  func countQueries(_ tree: TreeID, _ change: Int) throws(StoreError) {
    try changeUsage(tree) { $0.queries += change }
  }

  /// A number for a new run of a tree.
  func nextRunNumber(_ tree: TreeID) throws(StoreError) -> UInt64 {
    try changeUsage(tree) { row in
      row.nextRun += 1
      return row.nextRun - 1
    }
  }

  /// Replaces what was counted for a tree, after a recount.
  func setUsage(_ tree: TreeID, _ row: UsageRow) {
    state.usage[tree] = row
    state.isChanged = true
  }

  /// Forgets what was counted for a tree whose records are all gone.
  func forgetUsage(_ tree: TreeID) throws(StoreError) {
    try delete(Spaces.usage, StoreKey.prefix(tree))
    state.usage[tree] = nil
  }

  /// What a tree's records take, with the edits so far.
  func usage(_ tree: TreeID) throws(StoreError) -> UsageRow {
    if let row = state.usage[tree] { return row }
    let row = try UsageRow.read(self, tree)
    state.usage[tree] = row
    return row
  }

  /// Writes the usage of the trees that changed; the last step before `batch()`.
  func writeUsage() throws(StoreError) {
    for (tree, row) in state.usage {
      try put(Spaces.usage, StoreKey.prefix(tree), payload: row.payload)
    }
  }

  // MARK: Reads

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    if let edited = state.overlays[space.id]?[key] {
      return edited.map { read($0.span.bytes) }
    }
    return try base.get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    guard let overlay = state.overlays[space.id], !overlay.isEmpty else {
      return try base.walk(space, origin, visit)
    }
    try MergedWalk(base: base, overlay: overlay, space: space).run(origin, visit)
  }

  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    guard let overlay = state.overlays[space.id], !overlay.isEmpty else {
      return try base.walkKeys(space, origin, visit)
    }
    try MergedWalk(base: base, overlay: overlay, space: space).runKeys(origin, visit)
  }

  func close() { base.close() }
}
