package import ConiferKeyValue

/// One generation of a store, for one reader.
///
/// The store's view is opened when something is asked that memory cannot answer. Where the store has
/// another generation by then, and memory has answered already, the snapshot is torn: its answers must be
/// thrown away.
package final class LeafSnapshot: LeafView, @unchecked Sendable {
  // Unchecked: a view is read by one thread at a time.

  private enum Source {
    case unopened
    case open(any OrderedView)
    case closed
  }

  package let leaves: LeafStore
  private var source = Source.unopened
  private var wasAnsweredFromMemory = false
  /// The generation that is seen; nil when it is not known which one that is.
  package private(set) var generation: UInt64?
  /// Whether answers came from two generations.
  package private(set) var isTorn = false

  /// A snapshot of the newest generation.
  package init(_ leaves: LeafStore) {
    self.leaves = leaves
    generation = leaves.generations.newest
  }

  /// A snapshot of a view that is open, of no generation that is known.
  package init(_ leaves: LeafStore, _ view: any OrderedView) {
    self.leaves = leaves
    source = .open(view)
  }

  package var snapshot: LeafSnapshot? { self }

  /// The store's view; opens it.
  ///
  /// - Throws: as `OrderedStore.view`; `busy` when the snapshot is torn.
  @discardableResult
  package func open() throws(StoreError) -> any OrderedView {
    switch source {
    case .open(let view): return view
    case .closed:
      throw StoreError(.closed, "The view was used after its read: read what you need inside.")
    case .unopened: break
    }
    let before = leaves.generations.stable
    let view = try leaves.store.view()
    source = .open(view)
    // The same before and behind the opening: the view is of that generation.
    let opened = before.flatMap { $0 == leaves.generations.stable ? $0 : nil }
    if wasAnsweredFromMemory, opened == nil || opened != generation {
      generation = nil
      isTorn = true
      throw StoreError(.busy, "A commit came in between: read again.")
    }
    generation = opened
    return view
  }

  package func close() {
    if case .open(let view) = source { view.close() }
    source = .closed
    generation = nil
  }

  // MARK: Memory

  /// What memory knows at this generation; nil when it knows nothing of it.
  ///
  /// - Parameter ask: asks memory, at a generation.
  package func fromMemory<R>(_ ask: (Generations, UInt64) -> R?) -> R? {
    guard let generation, let answer = ask(leaves.generations, generation) else { return nil }
    wasAnsweredFromMemory = true
    return answer
  }

  /// An object made of a record of a tree, made anew where the record has changed.
  ///
  /// - Parameters:
  ///   - key: the record's.
  ///   - make: makes it of the record as it is stored.
  /// - Throws: what the closure throws.
  package func object(
    _ space: Space, _ tree: TreeID, _ key: @autoclosure () -> Bytes,
    _ make: () throws(StoreError) -> any AnyObject & Sendable
  ) throws(StoreError) -> any AnyObject & Sendable {
    if let known = fromMemory({ $0.object(space, tree, at: $1) }) { return known }
    let object = try make()
    if let generation { leaves.generations.keep(object, space, tree, key(), at: generation) }
    return object
  }

  // MARK: The store

  package func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R?
  {
    try open().get(space, key, read)
  }

  package func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    try open().walk(space, origin, visit)
  }

  package func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    try open().walkKeys(space, origin, visit)
  }

  package func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try open().walkLocked(space, origin, visit)
  }
}
