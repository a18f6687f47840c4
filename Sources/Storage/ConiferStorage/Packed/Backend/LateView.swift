import ConiferKeyValue

/// A frozen view that is opened when the store is first asked: what is known of the moment needs none.
final class LateView: OrderedView, @unchecked Sendable {
  // Unchecked: a view is read by one thread at a time.

  /// What the view is opened of; nil when it was open from the start.
  private let store: (any OrderedStore)?
  private let moments: Moments
  private var view: (any OrderedView)?
  private var isClosed = false
  private var isUsed = false
  /// The moment that is seen; nil when it is not known which one that is.
  private(set) var moment: Moment?
  /// Whether answers came from two moments, so that they must be thrown away.
  private(set) var isTorn = false

  /// A view of the newest commit.
  init(_ store: any OrderedStore, _ moments: Moments) {
    self.store = store
    self.moments = moments
    moment = moments.current
  }

  /// A view that is open, of no moment that is known.
  init(_ view: any OrderedView) {
    store = nil
    moments = Moments()
    moments.stop()
    self.view = view
  }

  /// Notes that something was answered from what is known of the moment.
  func use() { isUsed = true }

  /// The store's view; opens it.
  ///
  /// - Throws: as `OrderedStore.view`; anything when answers were given of another moment.
  @discardableResult
  func open() throws(StoreError) -> any OrderedView {
    if let view { return view }
    guard !isClosed, let store else {
      throw StoreError(.closed, "The view was used after its read: read what you need inside.")
    }
    let before = isUsed ? moment : moments.current
    let opened = try store.view()
    view = opened
    moment = before.flatMap { moments.isCurrent($0) ? $0 : nil }
    if moment == nil, isUsed {
      isTorn = true
      throw StoreError(.busy, "A commit came in between: read again.")
    }
    return opened
  }

  func close() {
    isClosed = true
    moment = nil
    view?.close()
    view = nil
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    try open().get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    try open().walk(space, origin, visit)
  }

  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    try open().walkKeys(space, origin, visit)
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try open().walkLocked(space, origin, visit)
  }
}
