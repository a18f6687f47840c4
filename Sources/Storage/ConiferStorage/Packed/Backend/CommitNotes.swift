import ConiferKeyValue
import ConiferLeafStore

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
