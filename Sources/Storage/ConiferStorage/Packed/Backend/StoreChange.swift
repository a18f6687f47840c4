import ConiferKeyValue
import ConiferLeafStore

/// What a change of the store did, for those who keep count of it.
struct StoreChange {
  /// The counts of the trees that changed.
  var usage: [TreeID: UsageRow] = [:]
  /// What `StoreWriter.recountedTree` counted before, when its counts changed.
  var recountedBefore: UsageRow?
  /// Trees that lost records and are to be mended.
  var damagedTrees: Set<TreeID> = []
  /// Whether indexes were declared, restarted, or built a part of.
  var changesIndexes = false
  /// About how many bytes the store wrote; 0 when nothing changed.
  var bytes = 0
  var cover: CoverChange

  init(cover: CoverChange = CoverChange()) { self.cover = cover }
}

/// What a change did to queries and pins, and to the data that they cover.
struct CoverChange {
  /// Trees in which data may have lost what covered it, or come where nothing does.
  var uncovered: Set<TreeID> = []
  /// How much was released: pins and queries, and a little for keys of queries.
  var released = 0
  var wiped: Set<TreeID> = []
  var removed: Set<Activity.Name> = []
  /// Queries that were saved without a use of their own.
  var saved: [Activity.Name] = []
}

/// What others are told of a commit, beside what it counts.
struct CommitNotes {
  /// Trees that lost something, and are to be mended.
  var mending: Set<TreeID> = []
  /// Whether indexes were declared, restarted, or built a part of.
  var changesIndexes = false
  var cover = CoverChange()
}

extension LeafTransaction {
  /// What was noted so far; it goes with `state`.
  var notes: CommitNotes { state.notes as? CommitNotes ?? CommitNotes() }

  /// Notes something.
  func note<R>(_ change: (inout CommitNotes) -> R) -> R {
    var notes = notes
    // Not held twice, so that it is changed in place.
    state.notes = nil
    defer { state.notes = notes }
    return change(&notes)
  }
}
