import ConiferSync
import Synchronization

/// The number that identifies an observer; it is never given twice in a process, and never 0.
public typealias DatabaseHandle = UInt

extension DatabaseHandle {
  private static let last = Atomic<UInt64>(0)

  /// A number that no other listener of this process has.
  static func next() -> DatabaseHandle {
    DatabaseHandle(truncatingIfNeeded: last.add(1, ordering: .relaxed).newValue)
  }
}

extension ListenerID {
  /// The app's listener with a handle.
  init(_ handle: DatabaseHandle) { self = .app(UInt64(handle)) }
}
