public import ConiferKeyValue

/// A storage backend that can check its own store.
public protocol VerifyingBackend: StorageBackend {
  /// Reads the whole store and checks every checksum and every rule that its records keep; changes
  /// nothing, sets nothing aside, and commits go on meanwhile.
  ///
  /// It runs on the caller's thread and holds one view as long as it takes to read everything, which
  /// keeps a store from reusing space. Damage is in the report, not an error.
  ///
  /// - Parameter progress: called now and then, about each megabyte.
  /// - Throws: `io`, `closed`, `suspended`.
  func verify(_ progress: (VerificationProgress) -> Void) throws(StoreError) -> VerificationReport
}

extension VerifyingBackend {
  /// Reads the whole store and checks it, without telling of progress.
  ///
  /// - Throws: as `verify(_:)`.
  public func verify() throws(StoreError) -> VerificationReport { try verify { _ in } }
}

extension StorageBackend {
  /// This backend as one that checks its own store.
  ///
  /// - Throws: `unsupported` when it cannot.
  public func verifying() throws(StoreError) -> any VerifyingBackend {
    guard let verifying = self as? any VerifyingBackend else {
      throw StoreError(
        .unsupported,
        "The backend \(traits.name) cannot check its own store: read all of it, or choose another "
          + "backend.")
    }
    return verifying
  }
}
