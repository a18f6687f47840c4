import ConiferSync
import Synchronization

/// A closure of the app's, which runs on the callback queue alone.
///
/// The calls that bear the Apple SDK's names take closures that need not be `Sendable`, as Firebase's
/// guides write them; what they share with other code is the app's to guard, as on Apple.
struct UserCode<Input>: @unchecked Sendable {
  let body: (Input) -> Void

  init(_ body: @escaping (Input) -> Void) { self.body = body }

  func callAsFunction(_ input: Input) { body(input) }
}

/// Another value of the app's that is used on the callback queue alone.
struct UserValue<Value>: @unchecked Sendable {
  let value: Value
}

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
