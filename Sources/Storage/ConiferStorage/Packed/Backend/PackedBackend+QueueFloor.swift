import ConiferKeyValue

/// A backend that knows above which number lanes begin of which nothing is left.
private protocol FloorKeeper: StorageBackend {
  func floor() throws(StoreError) -> UInt64
  /// Raises it to a number, or when that is nil, above all that was given so far.
  func raiseFloor(to number: UInt64?) async throws(StoreError)
}

extension PackedBackend: FloorKeeper {
  func floor() throws(StoreError) -> UInt64 {
    let view = try store.view()
    defer { view.close() }
    return try QueueFloor.read(view)
  }

  func raiseFloor(to number: UInt64?) async throws(StoreError) {
    try await run { (engine) throws(StoreError) in
      try engine.repairer.retrying { (_) throws(StoreError) in
        try engine.writer.change(.power) { (tx) throws(StoreError) in
          if let number { try QueueFloor.raise(tx, to: number) } else { try QueueFloor.raise(tx) }
        }
      }
    }
  }
}

extension StorageBackend {
  /// The number above which lanes begin of which nothing is known; 0 where nothing was ever lost, and in a
  /// backend that keeps none.
  func queueFloor() throws(StoreError) -> UInt64 { try (self as? any FloorKeeper)?.floor() ?? 0 }

  /// Lets such lanes begin above a number of another store, at least.
  func raiseQueueFloor(to number: UInt64) async throws(StoreError) {
    if number > 0 { try await (self as? any FloorKeeper)?.raiseFloor(to: number) }
  }

  /// Lets such lanes begin above all numbers that may have been given, since some of the queue may
  /// be lost.
  func raiseQueueFloor() async throws(StoreError) {
    try await (self as? any FloorKeeper)?.raiseFloor(to: nil)
  }
}
