package import ConiferKeyValue

extension StorageBackend {
  /// Takes the locks again after `suspend()`, as `resume()` does.
  ///
  /// - Returns: whether another process may have changed the store meanwhile; true where the backend does not know.
  /// - Throws: as `resume()`.
  package func resumeNotingChanges() async throws(StoreError) -> Bool {
    guard let backend = self as? any ChangeNotingBackend else {
      try await resume()
      return true
    }
    return try await backend.resumeToChanges()
  }
}

/// A backend that knows whether it was changed while it was suspended.
protocol ChangeNotingBackend: StorageBackend {
  /// Takes the locks again; gives whether another process committed meanwhile.
  func resumeToChanges() async throws(StoreError) -> Bool
}

extension PackedBackend: ChangeNotingBackend {
  func resumeToChanges() async throws(StoreError) -> Bool {
    try await run { (engine) throws(StoreError) in try engine.resume() }
  }
}
