import ConiferKeyValue
import ConiferStorage

/// A server of one model that serves one database from a store of the authority's.
protocol LocalServer: Sendable {
  /// What keeps the store tidy; nil when nothing does.
  var housekeeping: HousekeepingRunner? { get }
  /// The name of the tree that has the data.
  var treeName: String { get }
  /// Returns when it has handled all that was sent, the ends of connections too, and has stored it.
  func settle() async
  /// Serves no longer; the store stays open.
  func end() async
}
