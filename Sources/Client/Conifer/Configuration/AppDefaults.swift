package import ConiferStorage
package import ConiferWire
import Synchronization

/// The storage and transport of databases that apps get from class methods such as
/// ``Database/database()`` when their configuration names none. Conifer has no such defaults; a
/// module above it, such as ConiferKit, installs them.
package struct AppDefaults: Sendable {
  /// Where a database keeps its data once its persistence is on.
  let storage: @Sendable (DatabaseConfiguration) -> StorageConfiguration
  /// The transport to a host; nil for none.
  let transport: @Sendable (_ host: String, _ isSecure: Bool) -> (any Transport)?

  package init(
    storage: @escaping @Sendable (DatabaseConfiguration) -> StorageConfiguration,
    transport: @escaping @Sendable (_ host: String, _ isSecure: Bool) -> (any Transport)?
  ) {
    self.storage = storage
    self.transport = transport
  }

  private static let installed = Mutex<AppDefaults?>(nil)

  /// The installed defaults; nil when no module installed any.
  static var current: AppDefaults? { installed.withLock { $0 } }

  /// Installs the defaults for this process. It must be called before the first database is made.
  package static func install(_ defaults: AppDefaults) { installed.withLock { $0 = defaults } }
}
