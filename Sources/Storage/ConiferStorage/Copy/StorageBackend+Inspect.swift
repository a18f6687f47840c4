import ConiferKeyValue

extension StorageBackend {
  /// Reads one moment with a closure that may throw anything.
  package func inspect<R>(_ body: (any StorageView) throws -> R) throws -> R {
    let result = try read { (view) throws(StoreError) -> Result<R, any Error> in
      do {
        return .success(try body(view))
      } catch let error as StoreError {
        throw error
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Reads one moment with its documents, with a closure that may throw anything.
  package func inspectDocuments<R>(_ body: (any DocumentView) throws -> R) throws -> R {
    let result = try keepingDocuments().readDocuments {
      (view) throws(StoreError) -> Result<R, any Error> in
      do {
        return .success(try body(view))
      } catch let error as StoreError {
        throw error
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
