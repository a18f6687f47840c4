public import ConiferKeyValue
import ConiferLeafStore

extension PackedBackend {
  /// A backend on an open store with the encryption that the options ask for laid between, so that
  /// every kind of store has it.
  ///
  /// - Parameters:
  ///   - store: an open store whose keys may be at least 510 bytes long; it is closed when this
  ///     throws, and belongs to the backend otherwise.
  ///   - name: the backend's name, as in URLs.
  ///   - options: what holds for all stores; a durability that the store cannot do is refused.
  /// - Returns: a backend on `Store`, or on the store that the layer made of it.
  /// - Throws: as `init`, and as the layer.
  public static func open(
    _ store: Store, name: String, options: StorageOptions
  ) throws(StoreError) -> any StorageBackend {
    do throws(StoreError) {
      guard let layer = options.encryption else {
        return try PackedBackend(store, name: name, options: options)
      }
      return try packed(layer.open(over: store, Scopes.layout), name, options)
    } catch {
      try? store.close()
      throw error
    }
  }
}

extension PackedBackend {
  /// Runs something on the store between two commits, on the store's thread: rotating its keys,
  /// erasing one of them.
  ///
  /// What was read before is asked of the store again then.
  ///
  /// - Parameter body: must not change records.
  /// - Throws: what the closure throws.
  public func withStore<R: Sendable>(
    _ body: @escaping @Sendable (Store) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    let store = store
    return try await run { (engine) throws(StoreError) in
      let result = try engine.leaves.change { (_) throws(StoreError) in try body(store) }
      // The next commit numbers it otherwise.
      try? engine.writer.commitNumber()
      return result
    }
  }
}

/// A backend on a store whatever its type, with its layer laid over it already.
func packed<Store: OrderedStore>(
  _ store: Store, _ name: String, _ options: StorageOptions
) throws(StoreError) -> any StorageBackend {
  try PackedBackend(layered: store, name: name, options: options)
}
