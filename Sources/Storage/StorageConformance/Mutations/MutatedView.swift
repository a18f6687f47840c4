internal import ConiferKeyValue
internal import Synchronization

/// A view with the fault of its store.
final class MutatedView: OrderedView {
  let store: MutatedStore
  private let view: any OrderedView
  private let fault: Fault?
  /// What the store was when the view was taken.
  private let taken: MutatedStore.State
  private let isClosed = Atomic(false)

  init(_ store: MutatedStore, _ view: any OrderedView) {
    self.store = store
    self.view = view
    fault = store.site.fault
    taken = store.state.withLock { $0 }
  }

  /// The view that is read instead, for a space.
  private func current(_ space: Space) throws(StoreError) -> any OrderedView {
    let now = store.state.withLock { (commits: $0.commits, lives: $0.lives, pretends: $0.pretends) }
    if now.pretends || (fault.isOfLocks && now.lives != taken.lives) {
      throw StoreError(.closed, "The view ended; take a new one.")
    }
    guard case .views(let fault)? = fault else { return view }
    if case .answersAfterClose = fault, isClosed.load(ordering: .acquiring) { happened() }
    switch fault {
    case .seesLaterCommits where now.commits > taken.commits:
      happened()
      return try store.base.view()
    case .ends(let count) where now.commits >= taken.commits + count:
      happened()
      throw StoreError(.closed, "The view ended; take a new one.")
    case .seesFirstSpace:
      guard let lagging = taken.lagging, lagging.spaces.contains(space.id) else { return view }
      happened()
      return lagging.view
    default: return view
    }
  }

  /// The space that is read instead, in the store below; nil for one that only the fault uses.
  private func place(of space: Space) -> Space? {
    if store.site.hasRows, space == .layer { return nil }
    guard case .edits(let fault)? = fault else { return space }
    let place = fault.place(of: space)
    if place.id != space.id { happened() }
    return place
  }

  private func happened() { store.site.happened() }

  /// Reads, and takes the end of the store for an empty one where the fault does so.
  private func reading<R>(
    _ none: R, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      guard case .views(.answersAfterStoreCloses)? = fault, error.code == .closed,
        !isClosed.load(ordering: .acquiring)
      else { throw error }
      happened()
      return none
    }
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    guard let space = place(of: space) else { return nil }
    let view = try current(space)
    if case .damage(let fault)? = fault { return try get(view, space, key, read, fault) }
    return try reading(nil) { () throws(StoreError) -> R? in
      guard case .views(let fault)? = fault else { return try view.get(space, key, read) }
      switch fault {
      case .getsStale:
        guard let stale = taken.stale else { break }
        happened()
        return try stale.get(space, key, read)
      case .hidesEmptyValues:
        let isEmpty = try view.get(space, key) { $0.byteCount == 0 }
        guard isEmpty == true else { break }
        happened()
        return nil
      case .getsByPrefix:
        if let found = try view.get(space, key, read) { return found }
        var found: R?
        try view.walk(space, .atOrAfter(key)) { next, value in
          if next.starts(with: key) { found = read(value) }
          return .stop
        }
        if found != nil { happened() }
        return found
      default: break
      }
      return try view.get(space, key, read)
    }
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    guard let space = place(of: space) else { return }
    let view = try current(space)
    if case .damage(.walksPassOver)? = fault { return try walkPast(view, space, origin, visit) }
    try reading(()) { () throws(StoreError) in
      guard case .views(let fault)? = fault else { return try view.walk(space, origin, visit) }
      try walk(view, space, origin, fault, visit)
    }
  }

  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError) {
    guard let space = place(of: space) else { return }
    let view = try current(space)
    try reading(()) { () throws(StoreError) in
      var visits = 0
      try view.walkKeys(space, origin) { key, size in
        visits += 1
        switch fault {
        case .views(.tellsWrongSizes):
          happened()
          return visit(key, size + 1)
        case .views(.missesKeys) where visits == 3:
          happened()
          return .next
        default: return visit(key, size)
        }
      }
    }
  }

  func walkLocked(
    _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ size: Int, _ why: MissingKey) -> Step
  ) throws(StoreError) {
    guard let space = place(of: space) else { return }
    try current(space).walkLocked(space, origin, visit)
  }

  func close() {
    isClosed.store(true, ordering: .releasing)
    if case .views(.answersAfterClose)? = fault { return }
    view.close()
  }

  // MARK: Walks

  private func walk(
    _ view: any OrderedView, _ space: Space, _ origin: Origin, _ fault: ViewFault,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var visits = 0
    switch (fault, origin) {
    case (.skipsKey, _):
      try view.walk(space, origin) { key, value in
        visits += 1
        guard visits == 3 else { return visit(key, value) }
        happened()
        return .next
      }
    case (.doublesKey, _):
      try view.walk(space, origin) { key, value in
        visits += 1
        let step = visit(key, value)
        guard visits == 3, case .next = step else { return step }
        happened()
        return visit(key, value)
      }
    case (.startsAfter, .atOrAfter(let key)):
      if try view.get(space, key, { _ in true }) == true { happened() }
      try view.walk(space, .atOrAfter(key + [0]), visit)
    case (.startsAfter, .atOrBefore(let origin)):
      try view.walk(space, .atOrBefore(origin)) { key, value in
        guard key.compare(origin) == 0 else { return visit(key, value) }
        happened()
        return .next
      }
    case (.startsBehind, .atOrBefore(let key)):
      if try view.get(space, key + [0], { _ in true }) == true { happened() }
      try view.walk(space, .atOrBefore(key + [0]), visit)
    case (.goesOnAfterStop, _):
      var isStopped = false
      try view.walk(space, origin) { key, value in
        let step = visit(key, value)
        if isStopped {
          happened()
          return .stop
        }
        guard case .stop = step else { return step }
        isStopped = true
        return .next
      }
    case (.passesTargets, .atOrAfter):
      try view.walk(space, origin) { key, value in
        let step = visit(key, value)
        guard case .jump(let target) = step else { return step }
        happened()
        return .jump(target + [0])
      }
    case (.entersNextSpace, .atOrAfter):
      try walkOn(view, space, origin, visit)
    case (.turnsOnJumps, .atOrAfter): try walkTurning(view, space, origin, visit)
    case (.ordersSigned, .atOrAfter): try walkSigned(view, space, origin, visit)
    case (.disordersDescents, .atOrBefore): try walkDisordered(view, space, origin, visit)
    case (.walksSeeLaterCommits, .atOrAfter): try walkLive(view, space, origin, visit)
    default: try view.walk(space, origin, visit)
    }
  }

  private func walkOn(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var isStopped = false
    try view.walk(space, origin) { key, value in
      let step = visit(key, value)
      if case .stop = step { isStopped = true }
      return step
    }
    guard !isStopped, space.id < 254 else { return }
    try view.walk(Space(id: space.id + 1, shape: .rows), .atOrAfter([])) { key, value in
      happened()
      return visit(key, value)
    }
  }

  private func walkTurning(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var next: Origin? = origin
    while let from = next {
      next = nil
      try view.walk(space, from) { key, value in
        let step = visit(key, value)
        guard case .jump(let target) = step else { return step }
        if key.compare(target) >= 0 { happened() }
        next = .atOrAfter(target)
        return .stop
      }
    }
  }

  private func walkSigned(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var rows: [(key: Bytes, value: Bytes)] = []
    try view.walk(space, origin) { key, value in
      rows.append((Bytes(key), Bytes(value)))
      return .next
    }
    let ordered = rows.sorted { a, b in
      a.key.lexicographicallyPrecedes(b.key) { Int8(bitPattern: $0) < Int8(bitPattern: $1) }
    }
    if ordered.map(\.key) != rows.map(\.key) { happened() }
    for (key, value) in ordered {
      if case .stop = visit(key.span.bytes, value.span.bytes) { return }
    }
  }

  /// Visits the second key before the first one.
  private func walkDisordered(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var first: (key: Bytes, value: Bytes)?
    var visits = 0
    try view.walk(space, origin) { key, value in
      visits += 1
      guard visits > 1 else {
        first = (Bytes(key), Bytes(value))
        return .next
      }
      let step = visit(key, value)
      guard case .next = step, let held = first else { return step }
      first = nil
      happened()
      return visit(held.key.span.bytes, held.value.span.bytes)
    }
    guard visits == 1, let first else { return }
    _ = visit(first.key.span.bytes, first.value.span.bytes)
  }

  /// Goes on over the newest commit where one came after the walk began.
  private func walkLive(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    let begun = store.state.withLock { $0.commits }
    var left: Bytes?
    try view.walk(space, origin) { key, value in
      let step = visit(key, value)
      guard case .next = step, store.state.withLock({ $0.commits }) > begun else { return step }
      left = Bytes(key)
      return .stop
    }
    guard let left else { return }
    happened()
    let newest = try store.base.view()
    defer { newest.close() }
    try newest.walk(space, .atOrAfter(left + [0]), visit)
  }
}

extension Fault? {
  /// Whether the store only says that it is suspended.
  fileprivate var isOfLocks: Bool {
    if case .life(.keepsLocks)? = self { true } else { false }
  }
}
