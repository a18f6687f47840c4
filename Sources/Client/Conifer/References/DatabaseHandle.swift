import ConiferSync
import Synchronization

/// The number of an observer; never given twice in a process, and never 0.
public typealias DatabaseHandle = UInt

extension ListenerID {
  private static let last = Atomic<UInt64>(0)

  /// A number that no other listener of this process has.
  static func next() -> ListenerID {
    ListenerID(rawValue: last.add(1, ordering: .relaxed).newValue)
  }

  /// The number as the API gives it.
  var handle: DatabaseHandle { DatabaseHandle(truncatingIfNeeded: rawValue) }

  /// The listener with a handle.
  init(_ handle: DatabaseHandle) { self.init(rawValue: UInt64(handle)) }
}
