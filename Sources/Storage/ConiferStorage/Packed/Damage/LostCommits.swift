import ConiferKeyValue
import ConiferLeafStore

/// What a mark shows that a store lacks, and the words by which it is reported.
package struct LostCommits: Sendable {
  private static let before =
    "the end of the store, whose newest durable commits are lost, at least "
  private static let after =
    " of them: put back a newer copy of the store, if there is one; without, it goes on from before them, "
    + "and no new write gets the number of a lost one"
  private static let unknown =
    "the end of the store, whose newest durable commits may be lost: the record that counts them cannot "
    + "be read, so they cannot be compared with the mark of how far the store was synced"

  /// How many are lost, at least; nil when that is not known. Commits that were stored together count
  /// once.
  let count: UInt64?
  /// How far the floor of the queue is raised.
  let floorSteps = QueueFloor.stepsAfterLoss()

  /// What a store lacks by a mark; nil for nothing.
  init?(_ stored: StoreCommit.Stored, _ mark: StoreCommit) {
    switch stored {
    // Each version since the mark leaves the record in its place, and each commit that a mark names had it.
    case .none: count = mark.number
    case .number(let commit):
      // Of a mark beside another store, nothing is known.
      guard mark.store == commit.store, mark.number > commit.number else { return nil }
      count = mark.number - commit.number
    case .unreadable: count = nil
    }
  }

  var words: String { count.map(Self.words) ?? Self.unknown }

  package static func words(_ count: UInt64) -> String { before + String(count) + after }

  /// How many commits a report says are lost; nil for another report.
  package static func count(_ incident: Incident) -> UInt64? {
    let words = incident.place
    guard incident.tree.rawValue == 0, words.hasPrefix(before), words.hasSuffix(after) else {
      return nil
    }
    return UInt64(words.dropFirst(before.count).dropLast(after.count))
  }

  /// Whether a report says that commits may be lost, and how many is not known.
  package static func isUnknown(_ incident: Incident) -> Bool {
    incident.tree.rawValue == 0 && incident.place == unknown
  }
}
