import ConiferKeyValue
import ConiferLeafStore

/// The effect of a change of the store, for the parts that keep counts.
struct StoreChange {
  /// The counts of the trees that changed.
  var usage: [TreeID: UsageRow] = [:]
  /// The earlier counts of `StoreWriter.recountedTree`, when they changed.
  var recountedBefore: UsageRow?
  /// About how many bytes the store wrote; 0 when nothing changed.
  var bytes = 0
  var effects: CommitEffects
}

/// The effect of a change on queries and pins, and on the data that they cover.
struct CoverChange {
  /// Trees in which data may have become uncovered, or was written where nothing covers it.
  var uncovered: Set<TreeID> = []
  /// How much may have become evictable: pins and queries weigh much, keys of queries little.
  var uncoveredWeight = 0
  var wiped: Set<TreeID> = []
  var removed: Set<Activity.Name> = []
  /// Queries that were saved without a last use given by the caller.
  var saved: [Activity.Name] = []
}

/// The effects of a transaction that eviction, indexes and mending must know of, besides the
/// counts.
struct CommitEffects {
  /// Trees that lost records, and are to be mended.
  var damagedTrees: Set<TreeID> = []
  /// Whether a report of damage was stored.
  var reportsDamage = false
  /// The reports of damage that are of no tree.
  var ofStore: [Incident] = []
  /// Whether it is stored that the store lacks durable commits.
  var reportsLoss = false
  /// How far the floor of the queue is to be raised for durable commits that the store lacks, while
  /// that is not stored yet; 0 when it lacks none.
  var unreportedSteps: UInt64 = 0
  /// Whether indexes were declared, restarted, or built a part of.
  var changesIndexes = false
  var cover = CoverChange()
}

extension LeafTransaction {
  /// What the commit did so far; restored with `state`.
  var effects: CommitEffects {
    get {
      guard let kept = state.effects else { return CommitEffects() }
      guard let effects = kept as? CommitEffects else {
        assertionFailure("Another layer keeps its effects in the transaction: \(type(of: kept)).")
        return CommitEffects()
      }
      return effects
    }
    _modify {
      var effects = effects
      // The only copy is changed in place, so that its sets are not copied.
      state.effects = nil
      defer { state.effects = effects }
      yield &effects
    }
  }
}
