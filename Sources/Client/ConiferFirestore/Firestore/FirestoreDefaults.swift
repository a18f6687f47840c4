package import ConiferStorage
package import ConiferWire
import Synchronization

/// The storage and transport of databases that apps get from class methods such as
/// ``Firestore/firestore()`` when their configuration names none. This module has no such defaults;
/// a module above it, such as ConiferKit, installs them.
package struct FirestoreDefaults: Sendable {
  /// Where a database keeps its data while its persistence is on.
  let storage: @Sendable (FirestoreConfiguration) -> StorageConfiguration
  /// The way to the server of a database whose settings name a host; nil for none.
  let transport: @Sendable (FirestoreConfiguration) -> DocumentTransport?

  /// What databases are made of.
  package init(
    storage: @escaping @Sendable (FirestoreConfiguration) -> StorageConfiguration,
    transport: @escaping @Sendable (FirestoreConfiguration) -> DocumentTransport?
  ) {
    self.storage = storage
    self.transport = transport
  }

  private static let installed = Mutex<FirestoreDefaults?>(nil)

  /// The installed defaults; nil when no module installed any.
  static var current: FirestoreDefaults? { installed.withLock { $0 } }

  /// Installs the defaults for this process. It must be called before the first database is made.
  package static func install(_ defaults: FirestoreDefaults) {
    installed.withLock { $0 = defaults }
  }

  /// Fills in what a configuration does not name. It is called when settings can no longer change.
  func complete(_ configuration: inout FirestoreConfiguration) {
    if configuration.storage == nil, case .persistent = configuration.cache {
      configuration.storage = storage(configuration)
    }
    if configuration.transport == nil, configuration.host != nil {
      configuration.transport = transport(configuration)
    }
  }
}
