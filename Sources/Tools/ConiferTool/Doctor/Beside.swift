import ConiferStorage

/// A directory beside a store, which a salvage or a migration made.
enum Beside {
  /// The files of a damaged store that a new one has replaced.
  case damaged(String)
  /// Where a salvage makes a store, or has made one.
  case salvage(String, Work)
  /// A store that was copied into another one.
  case migrated(String)

  /// What becomes of a salvage.
  enum Work {
    /// A process is at it.
    case running
    /// It was cut short while the new store took the damaged one's place: it may hold the only copy of what was saved.
    case unfinished
    /// It was killed before that: all it has is still in the damaged store.
    case left
    /// Nothing tells what the directory is.
    case unknown

    /// What becomes of the salvage in a directory, for the store in another one.
    init(in path: String, for store: String) {
      let isOpen = (try? StoreOwner.look(in: path) { $0.isOpen }) ?? true
      if isOpen {
        self = .running
      } else if !Directory.isMissing("\(store)/\(UnfinishedStore.file)") {
        self = .unfinished
      } else {
        self = SalvageDirectory.isOne(path) ? .left : .unknown
      }
    }
  }

  /// What lies beside a store.
  static func all(of address: StoreAddress) -> [Beside] {
    let store = address.absolute
    let damaged = (try? address.configuration().setAside()) ?? []
    // An empty one is kept for its name.
    var found = damaged.filter { !Directory.isEmpty($0) }.map { Beside.damaged($0) }
    let salvage = store + ".salvage"
    if !Directory.isMissing(salvage) {
      found.append(.salvage(salvage, Work(in: salvage, for: store)))
    }
    let migrated = (try? Directory.series(like: store + ".migrated")) ?? []
    return found + migrated.map { .migrated($0) }
  }
}
