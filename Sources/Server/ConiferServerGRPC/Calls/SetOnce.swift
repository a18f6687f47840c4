#if GRPC
  import Synchronization

  /// A value that one task finds out and others see.
  final class SetOnce<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    /// The value; nil before it is known.
    var value: Value? { state.withLock { $0 } }

    func set(_ value: Value) { state.withLock { $0 = value } }
  }
#endif
