import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// The marks of completeness that an import removes with its first commit and sets with its last
/// one, so that half-loaded data never counts as complete.
struct Completeness {
  /// Distinguishes the mark of an import from a query that was listened to.
  private static let token = Array("import".utf8)

  private let tree: TreeID
  private let target: Path
  /// Queries that hold again when the import is done, as they were.
  private var restored: [StorageEdit] = []
  /// Whether the mark at the target is an import's, this one's or that of one that was killed.
  private var marksTarget = true
  /// The edits of the first commit.
  private(set) var taken: [StorageEdit] = []

  /// Whether the mark of an import that was killed stands at a place.
  static func isMarked(_ view: any StorageView, _ tree: TreeID, _ target: Path) throws -> Bool {
    try view.trackedQuery(tree, target, TrackedQuery.defaultParameters)?.query.resumeToken == token
  }

  /// Finds what an import touches.
  ///
  /// - Parameters:
  ///   - children: the children of the target that a merge replaces; nil when all of it is replaced.
  init(
    _ view: any StorageView, _ tree: TreeID, _ target: Path, children: Set<Key>?
  ) throws {
    self.tree = tree
    self.target = target
    // Queries at the target or above are not complete while the import runs.
    for count in 0...target.count {
      let place = Path(Array(target.keys.prefix(count)))
      for stored in try view.trackedQueries(tree, at: place) {
        var query = stored.query
        if query.resumeToken == Self.token { continue }
        let isTarget = place == target && query.isDefault
        if isTarget { marksTarget = false }
        let wasComplete = query.isComplete
        // The replaced data must not be resumed from a server.
        query.resumeToken = []
        query.isComplete = false
        taken.append(.saveQuery(query))
        // A filtered query may hold other children afterwards, so it stays incomplete.
        guard query.isDefault, wasComplete || (isTarget && children == nil) else { continue }
        query.isComplete = true
        query.isKnownMissing = false
        restored.append(.saveQuery(query))
      }
    }
    if marksTarget {
      taken.append(
        .saveQuery(TrackedQuery(tree: tree, path: target, resumeToken: Self.token)))
    }
    // Data below is replaced, so its queries are removed.
    for stored in try view.trackedQueries(tree, below: target) {
      if let children, !children.contains(stored.query.path.keys[target.count]) { continue }
      taken.append(.removeQuery(tree, stored.id))
    }
  }

  /// The edits of the last commit: a complete query for each child, or for a target without
  /// children.
  ///
  /// - Parameter children: the imported children.
  func given(_ view: any StorageView, children: [Key]) throws -> [StorageEdit] {
    var edits = restored
    guard !children.isEmpty else {
      let isMissing = try view.node(tree, target).isEmpty
      edits.append(
        .saveQuery(
          TrackedQuery(tree: tree, path: target, isComplete: true, isKnownMissing: isMissing)))
      return edits
    }
    let parameters = TrackedQuery.defaultParameters
    if marksTarget, let mark = try view.trackedQuery(tree, target, parameters) {
      edits.append(.removeQuery(tree, mark.id))
    }
    for key in children {
      edits.append(
        .saveQuery(TrackedQuery(tree: tree, path: target.appending(key), isComplete: true)))
    }
    return edits
  }
}
