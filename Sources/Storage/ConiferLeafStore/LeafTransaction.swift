@_spi(Stores) package import ConiferKeyValue
import Synchronization

/// The edits of one commit, laid over a snapshot: its reads see both.
///
/// It counts what each tree's records take with every edit, so that usage is exact without a scan.
package final class LeafTransaction: LeafView, @unchecked Sendable {
  // Unchecked: it is used on one thread. One that is stored is used by the thread that does the
  // store's work (see `StoreThread`), one that simulates an eviction by any reader.

  /// All that must be restored when a commit of a group fails.
  package struct State {
    /// By space and key: the new value, or nil for a deleted key.
    package var edits: [Space: SortedBytes<Bytes?>] = [:]
    /// By space: cleared ranges, in which only the edits exist.
    package var cleared: [Space: ClearedRanges] = [:]
    package var usage: [TreeID: UsageRow] = [:]
    package var isChanged = false
    /// State that the layer above keeps for the commit.
    package var effects: (any Sendable)?
    /// Bytes of added records less those of removed ones; records of a wiped tree are not counted.
    package var growth = 0

    /// How many records are changed.
    package var editCount: Int { edits.values.reduce(0) { $0 + $1.count } }
  }

  package let base: LeafSnapshot
  package var state = State()
  /// How runs are cut and packed, with what this commit learns.
  package var sizing: RunSizing
  /// Whether the commit helps to free space; the store then takes it on a full disk too.
  package var frees = false
  private var editors: [TreeID: RunEditor] = [:]
  /// Grows whenever records of runs change.
  private(set) var runChanges = 0
  /// The usage of trees that was read and has not changed, so that it is read only once.
  var unchangedUsage: [TreeID: UsageRow] = [:]
  /// The trees whose usage is stored in the snapshot; nil until somebody asks.
  var storedUsage: Set<TreeID>?

  /// A transaction on an open snapshot.
  package init(_ base: LeafSnapshot) {
    self.base = base
    sizing = base.leaves.sizing.withLock { $0 }
  }

  /// The followers of a tree.
  func followers(_ tree: TreeID) throws(StoreError) -> [any LeafFollower] {
    try leaves.findFollowers(self, tree)
  }

  /// Cuts and packs runs from now on with the settings of a tree.
  package func adaptSizing(to tree: TreeID) throws(StoreError) {
    sizing.favorsPointReads = try leaves.readsSingly(self, tree)
  }

  package var leaves: LeafStore { base.leaves }
  package var memorySnapshot: LeafSnapshot? { nil }

  // MARK: Leaves

  /// The editor of a tree's leaves; `flush` writes its changes.
  package func editor(_ tree: TreeID) -> RunEditor {
    if let editor = editors[tree] { return editor }
    let editor = RunEditor(self, tree)
    editors[tree] = editor
    return editor
  }

  /// Writes the changed leaves of all trees into the commit.
  package func flush() throws(StoreError) {
    for tree in editors.keys.sorted() { try flush(tree) }
  }

  /// Writes the changed leaves of a tree into the commit.
  package func flush(_ tree: TreeID) throws(StoreError) {
    try editors.removeValue(forKey: tree)?.flush()
  }

  /// Drops the changes of a tree's leaves, after the tree was wiped.
  package func dropChanges(_ tree: TreeID) { editors[tree] = nil }

  /// Undoes all changes since a saved state.
  package func restore(_ saved: State) {
    state = saved
    editors = [:]
    unchangedUsage = [:]
  }

  // MARK: The batch

  /// Edits for the store, each key once.
  package func batch() -> Batch {
    var batch = Batch()
    batch.frees = frees || state.growth < 0
    let spaces = Set(state.edits.keys).union(state.cleared.keys)
    for space in spaces.sorted(by: { $0.id < $1.id }) {
      // Clears come before the edits, so that values that were put later stay.
      for range in state.cleared[space]?.ranges ?? [] {
        batch.clear(space, from: range.from, to: range.to)
      }
      state.edits[space]?.forEach { key, value in
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

  /// Stores a payload under a key that the store is known not to hold, so that it is not looked up.
  package func putNew(_ space: Space, _ key: Bytes, payload: Bytes) throws(StoreError) {
    if state.edits[space]?[key] != nil { return try put(space, key, payload: payload) }
    let value = Record.seal(space, key, payload)
    try count(space, key, bytes: 1 + key.count + value.count)
    set(space, key, value)
  }

  /// Seals a payload and stores it under a key without a look at what is there, and counts nothing.
  package func putUncounted(_ space: Space, _ key: Bytes, payload: Bytes) {
    set(space, key, Record.seal(space, key, payload))
  }

  /// Replaces a value that the store does not return, and counts the difference.
  package func replaceUnreadable(
    _ space: Space, _ key: Bytes, with value: Bytes
  ) throws(StoreError) {
    guard let size = try size(space, key) else { return }
    try count(space, key, bytes: value.count - size)
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
  /// - Parameter isCounted: whether usage is updated; false only when the tree's usage is
  ///   forgotten.
  package func deleteAll(_ space: Space, prefix: Bytes, isCounted: Bool = true) throws(StoreError) {
    let end = StoreKey.end(of: prefix) ?? prefix + Bytes(repeating: 0xFF, count: 512)
    if isCounted {
      // By keys and sizes alone, since unreadable records are removed too.
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
    state.edits[space, default: SortedBytes()].removeAll(from: prefix, to: end)
    state.cleared[space, default: ClearedRanges()].add(from: prefix, to: end)
    state.isChanged = true
    if space == Spaces.runs { runChanges += 1 }
  }

  private func set(_ space: Space, _ key: Bytes, _ value: Bytes?) {
    state.edits[space, default: SortedBytes()][key] = .some(value)
    state.isChanged = true
    if space == Spaces.runs { runChanges += 1 }
  }

  private func count(_ space: Space, _ key: Bytes, bytes: Int) throws(StoreError) {
    state.growth.add(bytes)
    guard space != Spaces.usage else { return }
    try changeUsage(StoreKey.tree(key)) { $0.bytes[space.id, default: 0] += bytes }
  }

  // MARK: Reads

  package func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R?
  {
    if let edited = state.edits[space]?[key] {
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

  /// Visits the stored keys only: edits are never locked.
  package func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try base.walkLocked(space, origin, visit)
  }

  /// A walk over the edits of a space, or nil when there are none.
  private func merged(_ space: Space) -> MergedWalk? {
    let edits = state.edits[space] ?? SortedBytes()
    let cleared = state.cleared[space] ?? ClearedRanges()
    guard !edits.isEmpty || !cleared.ranges.isEmpty else { return nil }
    return MergedWalk(base: base, edits: edits, cleared: cleared, space: space)
  }

  package func close() { base.close() }
}

/// A walk over a frozen view with edits laid over it.
package struct MergedWalk {
  package let base: any OrderedView
  package let edits: SortedBytes<Bytes?>
  /// The cleared ranges of the view.
  package let cleared: ClearedRanges
  package let space: Space

  package func run(_ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step) throws(StoreError) {
    var origin = origin
    while let next = try leg(origin, readsValues: true, { key, value, _ in visit(key, value) }) {
      origin = next
    }
  }

  /// Walks over keys and the sizes of their values.
  package func runKeys(_ origin: Origin, _ visit: (RawSpan, Int) -> Step) throws(StoreError) {
    var origin = origin
    while let next = try leg(origin, readsValues: false, { key, _, size in visit(key, size) }) {
      origin = next
    }
  }

  /// Walks until the end, a stop (nil) or a jump (the origin of the next leg).
  ///
  /// - Parameters:
  ///   - readsValues: whether stored values are read; what is lent in their place means nothing
  ///     otherwise.
  ///   - visit: gets a key, its value and the value's size.
  private func leg(
    _ origin: Origin, readsValues: Bool, _ visit: (RawSpan, RawSpan, Int) -> Step
  ) throws(StoreError) -> Origin? {
    let isAscending: Bool
    var edit: SortedBytes<Bytes?>.Position?
    switch origin {
    case .atOrAfter(let key):
      isAscending = true
      edit = edits.firstAtOrAfter(key)
    case .atOrBefore(let key):
      isAscending = false
      edit = edits.lastAtOrBefore(key)
    }
    var next: Origin?
    var isOver = false

    /// Visits and says whether this leg goes on.
    func show(_ key: RawSpan, _ value: RawSpan, _ size: Int) -> Bool {
      switch visit(key, value, size) {
      case .next: return true
      case .stop: isOver = true
      case .jump(let target):
        let order = key.compare(target)
        let isAhead = isAscending ? order < 0 : order > 0
        if !isAhead { return true }
        next = isAscending ? .atOrAfter(target) : .atOrBefore(target)
      }
      return false
    }

    /// Visits the edits that come before a stored key; says whether that key is itself edited, or
    /// nil when the leg ended.
    func showEdits(before stored: RawSpan?) -> Bool? {
      while let at = edit {
        let (key, value) = edits.entry(at: at)
        if let stored {
          let order = stored.compare(key)
          if order == 0 {
            edit = isAscending ? edits.after(at) : edits.before(at)
            if let value, !show(key.span.bytes, value.span.bytes, value.count) { return nil }
            return true
          }
          if isAscending ? order < 0 : order > 0 { return false }
        }
        edit = isAscending ? edits.after(at) : edits.before(at)
        if let value, !show(key.span.bytes, value.span.bytes, value.count) { return nil }
      }
      return false
    }

    /// Visits a stored key, unless it is edited, after the edits that come before it.
    func merge(_ key: RawSpan, _ value: RawSpan, _ size: Int) -> Step {
      guard let isEdited = showEdits(before: key) else { return .stop }
      if isEdited { return .next }
      if let range = cleared.containing(key) { return .jump(isAscending ? range.to : range.from) }
      return show(key, value, size) ? .next : .stop
    }

    if readsValues {
      try base.walk(space, origin) { key, value in merge(key, value, value.byteCount) }
    } else {
      try base.walkKeys(space, origin) { key, size in merge(key, key, size) }
    }
    if next == nil, !isOver { _ = showEdits(before: nil) }
    return next
  }
}
