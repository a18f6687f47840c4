package import ConiferStorage
package import ConiferWire
import Synchronization

/// What databases of the class are made of where the app names nothing: for a module that chooses parts
/// for apps, as this one chooses none.
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

  /// Those of this process; nil without such a module.
  static var current: FirestoreDefaults? { installed.withLock { $0 } }

  /// Makes them those of this process; called before its first database is made.
  package static func install(_ defaults: FirestoreDefaults) {
    installed.withLock { $0 = defaults }
  }

  /// Fills in what a configuration does not name, once its settings are settled.
  func complete(_ configuration: inout FirestoreConfiguration) {
    if configuration.storage == nil, case .persistent = configuration.cache {
      configuration.storage = storage(configuration)
    }
    if configuration.transport == nil, configuration.host != nil {
      configuration.transport = transport(configuration)
    }
  }
}
