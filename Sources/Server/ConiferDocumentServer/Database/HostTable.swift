import ConiferDocument
import Synchronization

/// The databases that are in memory. Of unused ones only a limited number stay, with a limited
/// total size of histories. The others are opened from the store again when needed.
struct HostTable {
  private struct Entry {
    let host: DatabaseHost
    var users = 0
    /// Whether it always stays in memory, because a link within the process may use it.
    var isPermanent = false
    /// The number of its last use.
    var lastUse: UInt64 = 0

    var historyBytes: Int { host.historyBytes.load(ordering: .relaxed) }
  }

  private var entries: [DatabaseID: Entry] = [:]
  private var uses: UInt64 = 0
  /// How many are neither used nor kept.
  private var idle = 0

  var all: [DatabaseHost] { entries.values.map(\.host) }

  /// Marks a database as one that always stays in memory.
  mutating func keep(_ database: DatabaseID, _ make: () -> DatabaseHost) -> DatabaseHost {
    var entry = entries[database] ?? Entry(host: make())
    if entries[database] != nil, entry.users == 0, !entry.isPermanent { idle -= 1 }
    entry.isPermanent = true
    entries[database] = entry
    return entry.host
  }

  /// Begins to use a database; nil when too many are in use. After success `end` must be called
  /// once.
  mutating func begin(
    _ database: DatabaseID, most: Int, _ make: () -> DatabaseHost
  ) -> DatabaseHost? {
    guard entries[database] != nil || entries.count - idle < most else { return nil }
    var entry = entries[database] ?? Entry(host: make())
    if entries[database] != nil, entry.users == 0, !entry.isPermanent { idle -= 1 }
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
    guard entry.users == 0, !entry.isPermanent else { return }
    idle += 1
    var unused = entries.filter { $0.value.users == 0 && !$0.value.isPermanent }
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
