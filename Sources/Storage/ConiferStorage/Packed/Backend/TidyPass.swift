import ConiferKeyValue
import ConiferLeafStore

/// A pass over all runs that folds deltas and joins small neighbours, a few runs at a time.
struct TidyPass {
  /// How many runs one step looks at, so that it holds commits for milliseconds.
  private static let stride = 32

  /// The run after which the next step begins; empty at the start of a pass.
  private var position = Bytes()
  /// The dictionaries that this pass found in use.
  private var named = NamedDictionaries()

  /// Whether the next step begins a pass.
  var isAtStart: Bool { position.isEmpty }

  /// Does a step in a commit of its own.
  ///
  /// - Parameter isQuiet: whether nothing was committed since the pass began.
  /// - Returns: where the next step begins, and whether the pass is complete.
  func step(
    _ tx: LeafTransaction, isQuiet: Bool
  ) throws(StoreError) -> (TidyPass, isDone: Bool) {
    let keys = try keys(tx)
    tx.sizing.effort = .thorough
    var named = named
    var index = 0
    while index < keys.count {
      let tree = StoreKey.tree(keys[index])
      var end = index
      while end < keys.count, StoreKey.tree(keys[end]) == tree { end += 1 }
      let editor = tx.editor(tree)
      try tx.adaptSizing(to: tree)
      let done = try RunRefresher(editor, Packing(tx, tree)).refresh(keys[index..<end], &named)
      try tidy(keys[index..<end], leaving: done, editor)
      try tx.flush(tree)
      index = end
    }
    var (result, isDone) = next(keys)
    result.named = isDone ? NamedDictionaries() : named
    // Only a pass that saw every run in its current state knows which dictionaries are not in use.
    if isDone, isQuiet, !tx.state.isChanged { try named.dropOthers(tx) }
    return (result, isDone)
  }

  /// Skips the runs of this step.
  func skip(_ view: any OrderedView) throws(StoreError) -> (TidyPass, isDone: Bool) {
    var (result, isDone) = next(try keys(view))
    if !isDone { result.named.isWhole = false }
    return (result, isDone)
  }

  /// The runs of this step; their keys are read first, since the runs change while looked at.
  private func keys(_ view: any OrderedView) throws(StoreError) -> [Bytes] {
    var keys: [Bytes] = []
    try view.walk(Spaces.runs, .atOrAfter(position)) { key, _ in
      let key = Bytes(key)
      if key != position || position.isEmpty { keys.append(key) }
      return keys.count < Self.stride ? .next : .stop
    }
    return keys
  }

  private func next(_ keys: [Bytes]) -> (TidyPass, isDone: Bool) {
    guard keys.count == Self.stride, let last = keys.last else { return (TidyPass(), true) }
    var next = self
    next.position = last
    return (next, false)
  }

  private func tidy(
    _ keys: ArraySlice<Bytes>, leaving done: Set<Bytes>, _ editor: RunEditor
  ) throws(StoreError) {
    var previous: (key: Bytes, raw: Int, stored: Int)?
    for key in keys {
      if done.contains(key) {
        // Only adjacent runs are joined.
        previous = nil
        continue
      }
      guard let value = try editor.tx.value(Spaces.runs, key) else { continue }
      let head = try RunHead(storeKey: key, value: value)
      let prefix = DeltaRecord.prefix(editor.tree, head.number)
      let hasDeltas = try !editor.tx.keys(Spaces.deltas, prefix: prefix, limit: 1).isEmpty
      if hasDeltas { try editor.fold(key) }
      // Runs whose stored size would be too large would be split again in every pass.
      if let small = previous, small.raw + head.rawCount < editor.tx.sizing.rawTarget * 3 / 4,
        small.stored + value.count <= editor.tx.sizing.bestStored
      {
        try editor.join(key, into: small.key)
        previous = (small.key, small.raw + head.rawCount, small.stored + value.count)
      } else {
        previous = (key, head.rawCount, value.count)
      }
    }
  }
}
