import ConiferKeyValue
import ConiferStorage
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The number of this process.
func getProcessID() -> Int32 { getpid() }

/// A view of a flawed store: frozen and confined unless its flaw says otherwise.
final class FlawedView: OrderedView {
  private let store: FlawedStore
  private let view: any OrderedView
  private let lease: FlawedStore.Lease
  private let isClosed = Atomic(false)

  init(_ store: FlawedStore, _ view: any OrderedView, _ lease: FlawedStore.Lease) {
    self.store = store
    self.view = view
    self.lease = lease
  }

  private func current() throws(StoreError) -> any OrderedView {
    if isClosed.load(ordering: .acquiring) || lease.isOver.load(ordering: .acquiring) {
      throw StoreError(.closed, "Take a new view.")
    }
    return store.flaw == .leaksLaterWrites ? try store.memory.view() : view
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    let space = store.flaw == .keepsShapesApart ? FlawedStore.apart(space) : space
    return try current().get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    let view = try current()
    switch (store.flaw, origin) {
    case (.walksIntoTheNextSpace, .atOrAfter):
      var isStopped = false
      try view.walk(space, origin) { key, value in
        let step = visit(key, value)
        if case .stop = step { isStopped = true }
        return step
      }
      guard !isStopped, space.id < 254 else { return }
      try view.walk(Space(id: space.id + 1, shape: .rows), .atOrAfter([]), visit)
    case (.keepsShapesApart, _): try view.walk(FlawedStore.apart(space), origin, visit)
    case (.beginsDescentAfterTheOrigin, .atOrBefore(let key)):
      try view.walk(space, .atOrBefore(key + [0]), visit)
    case (.turnsOnJumpsBack, .atOrAfter):
      try turning(view, space, origin, visit)
    case (.ordersBySignedBytes, .atOrAfter):
      var rows: [(Bytes, Bytes)] = []
      try view.walk(space, origin) { key, value in
        rows.append((Bytes(key), Bytes(value)))
        return .next
      }
      rows.sort { a, b in
        a.0.lexicographicallyPrecedes(b.0) { Int8(bitPattern: $0) < Int8(bitPattern: $1) }
      }
      for (key, value) in rows {
        if case .stop = visit(key.span.bytes, value.span.bytes) { return }
      }
    default:
      try view.walk(space, origin, visit)
    }
  }

  /// Walks so that a jump back goes back.
  private func turning(
    _ view: any OrderedView, _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    var next: Origin? = origin
    while let from = next {
      next = nil
      try view.walk(space, from) { key, value in
        let step = visit(key, value)
        if case .jump(let target) = step {
          next = .atOrAfter(target)
          return .stop
        }
        return step
      }
    }
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { isClosed.store(true, ordering: .releasing) }
}
