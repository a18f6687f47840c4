import ConiferKeyValue
import ConiferLog
import ConiferStorage
import StorageConformance
import TestSupport

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Backends that deal wrongly with damaged files.
enum FlawedDamage: String, CaseIterable, Codable, Sendable {
  /// Removes files that cannot be opened, and begins anew.
  case beginsAnew
  /// Ends the process where an error is due.
  case traps
  /// Tells of nothing that was lost.
  case hidesIncidents
  /// Never answers, the first time that an error is due.
  case hangs
  /// Deals rightly with damage, and says that it cannot notice some.
  case excusesNeedlessly

  private var overlooked: Set<Anomaly> {
    switch self {
    case .beginsAnew, .traps, .hangs: []
    case .hidesIncidents: [.lostAcknowledged]
    case .excusesNeedlessly: [.trap]
    }
  }

  var factory: BackendFactory {
    let right = Tested.smallLog(.none)
    return BackendFactory(
      name: "backend that \(self)", declared: right.declared, options: right.options,
      evicts: true, overlooks: overlooked
    ) { (directory, options) throws(StoreError) in
      do throws(StoreError) {
        guard self == .hidesIncidents else { return try right.open(directory, options) }
        return try PackedBackend(
          SilentStore(try LogStore(at: directory)), name: "log", options: options)
      } catch {
        switch self {
        case .beginsAnew:
          for file in Files.names(directory) { unlink(directory + "/" + file) }
          return try right.open(directory, options)
        case .traps: abort()
        case .hangs:
          let note = directory + "/../hung"
          if access(note, F_OK) == 0 { throw error }
          close(creat(note, 0o600))
          while true { pause() }
        case .hidesIncidents, .excusesNeedlessly: throw error
        }
      }
    }
  }
}

/// A log that keeps no record of what was damaged, and tells of none.
private final class SilentStore: ForwardingStore {
  let base: LogStore

  init(_ base: LogStore) { self.base = base }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    // Space 15 holds the reports.
    var others = Batch()
    for edit in batch.edits {
      switch edit {
      case .put(let space, let key, let value):
        if space.id != 15 { others.put(space, key, value) }
      case .delete(let space, let key): others.delete(space, key)
      case .clear(let space, let from, let to): others.clear(space, from: from, to: to)
      }
    }
    return try base.apply(others, durability)
  }

  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
