import ConiferDocument
import Synchronization

/// The databases that are in memory. Of those that nobody uses only so many stay, and with so many bytes of histories;
/// the others are opened again from the store.
struct HostTable {
  private struct Entry {
    let host: DatabaseHost
    var users = 0
    /// Whether a link of the process may have it.
    var isKept = false
    /// The number of its last use.
    var lastUse: UInt64 = 0

    var historyBytes: Int { host.historyBytes.load(ordering: .relaxed) }
  }

  private var entries: [DatabaseID: Entry] = [:]
  private var uses: UInt64 = 0
  /// How many are neither used nor kept.
  private var idle = 0

  var all: [DatabaseHost] { entries.values.map(\.host) }

  /// A database that stays.
  mutating func keep(_ database: DatabaseID, _ make: () -> DatabaseHost) -> DatabaseHost {
    var entry = entries[database] ?? Entry(host: make())
    if entries[database] != nil, entry.users == 0, !entry.isKept { idle -= 1 }
    entry.isKept = true
    entries[database] = entry
    return entry.host
  }

  /// Begins to use a database; nil while as many as may be are in use. After success `end` is called once.
  mutating func begin(
    _ database: DatabaseID, most: Int, _ make: () -> DatabaseHost
  ) -> DatabaseHost? {
    guard entries[database] != nil || entries.count - idle < most else { return nil }
    var entry = entries[database] ?? Entry(host: make())
    if entries[database] != nil, entry.users == 0, !entry.isKept { idle -= 1 }
    entry.users += 1
    entries[database] = entry
    return entry.host
  }

  /// Ends a use.
  ///
  /// - Parameters:
  ///   - most: how many that nobody uses stay.
  ///   - bytes: about how many bytes the histories of these take.
  mutating func end(_ database: DatabaseID, idle most: Int, bytes: Int) {
    guard var entry = entries[database], entry.users > 0 else { return }
    uses += 1
    entry.users -= 1
    entry.lastUse = uses
    entries[database] = entry
    guard entry.users == 0, !entry.isKept else { return }
    idle += 1
    var unused = entries.filter { $0.value.users == 0 && !$0.value.isKept }
    var held = unused.values.reduce(0) { $0 + $1.historyBytes }
    while idle > most || held > bytes {
      guard let oldest = unused.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
      held -= oldest.value.historyBytes
      unused[oldest.key] = nil
      entries[oldest.key] = nil
      idle -= 1
    }
  }
}
