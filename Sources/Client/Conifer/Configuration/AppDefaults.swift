package import ConiferStorage
package import ConiferWire
import Synchronization

/// What databases of the class are made of where the app names nothing: for a module that chooses parts
/// for apps, as this one chooses none.
package struct AppDefaults: Sendable {
  /// Where a database keeps its data once its persistence is on.
  let storage: @Sendable (DatabaseConfiguration) -> StorageConfiguration
  /// The way to a host; nil for none.
  let transport: @Sendable (_ host: String, _ isSecure: Bool) -> (any Transport)?

  package init(
    storage: @escaping @Sendable (DatabaseConfiguration) -> StorageConfiguration,
    transport: @escaping @Sendable (_ host: String, _ isSecure: Bool) -> (any Transport)?
  ) {
    self.storage = storage
    self.transport = transport
  }

  private static let installed = Mutex<AppDefaults?>(nil)

  /// Those of this process; nil without such a module.
  static var current: AppDefaults? { installed.withLock { $0 } }

  /// Makes them those of this process; called before its first database is made.
  package static func install(_ defaults: AppDefaults) { installed.withLock { $0 = defaults } }
}
