@_spi(Stores) import ConiferKeyValue
import Synchronization

/// A frozen state of a memory store: a copy that shares its structure.
final class MemoryView: OrderedView {
  private let spaces: Mutex<[UInt8: SortedBytes<Bytes>]?>
  private let lease: MemoryLease

  init(_ spaces: [UInt8: SortedBytes<Bytes>], _ lease: MemoryLease) {
    self.spaces = Mutex(spaces)
    self.lease = lease
  }

  /// The rows of a space, taken out of the lock so that a closure may read the view again.
  private func rows(_ space: Space) throws(StoreError) -> SortedBytes<Bytes> {
    try spaces.withLock { (spaces: inout _) throws(StoreError) -> SortedBytes<Bytes> in
      if lease.isOver.load(ordering: .acquiring) { spaces = nil }
      guard let spaces else {
        throw StoreError(.closed, "The view or its store was closed; take a new view.")
      }
      return spaces[space.id] ?? SortedBytes()
    }
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    guard let value = try rows(space)[key] else { return nil }
    return read(value.span.bytes)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    let rows = try rows(space)
    let ascends: Bool
    var next: SortedBytes<Bytes>.Position?
    switch origin {
    case .atOrAfter(let key): (ascends, next) = (true, rows.firstAtOrAfter(key))
    case .atOrBefore(let key): (ascends, next) = (false, rows.lastAtOrBefore(key))
    }
    while let position = next {
      let (key, value) = rows.entry(at: position)
      switch visit(key.span.bytes, value.span.bytes) {
      case .stop: return
      case .jump(let target) where ascends && compareBytes(target, key) > 0:
        next = rows.firstAtOrAfter(target)
      case .jump(let target) where !ascends && compareBytes(target, key) < 0:
        next = rows.lastAtOrBefore(target)
      case .next, .jump: next = ascends ? rows.after(position) : rows.before(position)
      }
    }
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { spaces.withLock { $0 = nil } }
}
