import ConiferKeyValue
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

/// A view of memory, which ends with its store.
final class ShelfView: OrderedView {
  private let view: any OrderedView
  private let lease: ShelfStore.Lease
  private let isClosed = Atomic(false)

  init(_ view: any OrderedView, _ lease: ShelfStore.Lease) {
    self.view = view
    self.lease = lease
  }

  private func requireOpen() throws(StoreError) {
    guard isClosed.load(ordering: .acquiring) || lease.isOver.load(ordering: .acquiring) else {
      return
    }
    throw StoreError(.closed, "Take a new view.")
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    try requireOpen()
    return try view.get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    try requireOpen()
    try view.walk(space, origin, visit)
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { isClosed.store(true, ordering: .releasing) }
}
