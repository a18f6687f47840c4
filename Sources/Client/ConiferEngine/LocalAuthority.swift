package import ConiferKeyValue
package import ConiferStorage

/// An authority in this process that serves one client alone. Its store takes the place of the client's, whose own
/// storage is then in memory: what the client has written is kept once the authority has answered.
///
/// The client calls one member at a time, and is disconnected when it suspends or closes.
package protocol LocalAuthority: AnyObject, Sendable {
  /// Opens the store.
  ///
  /// - Throws: what opening a store throws, such as `busy`.
  nonisolated(nonsending) func open() async throws(StoreError)

  /// Handles what was sent, makes it durable, and lets go of every lock.
  ///
  /// - Throws: what suspending a store throws; another call tries again, and `resume()` goes on.
  nonisolated(nonsending) func suspend() async throws(StoreError)

  /// Takes the locks again, and reads anew what another process has changed meanwhile.
  ///
  /// - Throws: what resuming a store throws, such as `busy`; it stays suspended then.
  nonisolated(nonsending) func resume() async throws(StoreError)

  /// Its store, and the tree of the data there, or 0, which no tree has, while there is none; nil when it is not open.
  var store: (backend: any StorageBackend, tree: TreeID)? { get }

  /// Handles what was sent, makes it durable, and closes the store. A second call does nothing.
  ///
  /// - Throws: what closing a store throws; its files are released anyway.
  nonisolated(nonsending) func close() async throws(StoreError)
}

extension LocalAuthority {
  /// None that could be asked.
  package var store: (backend: any StorageBackend, tree: TreeID)? { nil }
}

extension StorageOptions {
  /// These of an authority in this process: it has the only copy of the data, and no budget.
  package var ofAuthority: StorageOptions {
    var options = self
    options.role = .authority
    options.budget = nil
    return options
  }

  /// These of the client of such an authority, whose own storage is in memory.
  package var besideAuthority: StorageOptions {
    var options = self
    options.role = .cache
    options.durability = .strongest
    options.encryption = nil
    return options
  }
}
