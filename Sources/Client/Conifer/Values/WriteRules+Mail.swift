import ConiferStorage
import ConiferTree

extension WriteRules {
  /// The write that another process has left, which obeys the rules of writes in this one.
  ///
  /// - Parameter payload: what was left, of the kind `tree`; anybody may have made it.
  /// - Throws: why it is invalid.
  static func content(of payload: WritePayload) throws(DatabaseError) -> WriteContent {
    guard let content = WriteContent(payload), content.preconditions.isEmpty else {
      throw DatabaseError(.invalidValue, "it is no write that a companion database makes")
    }
    let paths = content.changes.map(\.path)
    let isWhole =
      switch content.kind {
      case .set: paths == [content.path]
      case .update: !paths.isEmpty && paths.allSatisfy { isBelow($0, content.path) }
      case .transaction: false
      }
    guard isWhole else {
      throw DatabaseError(
        .invalidUpdate, "\(content.path): it changes other places than it was made at")
    }
    do throws(TreeError) {
      try content.path.validate(writing: .empty)
      for change in content.changes { try change.path.validate(writing: change.node) }
      try Path.validate(merging: paths)
    } catch {
      throw DatabaseError(error)
    }
    return content
  }

  private static func isBelow(_ path: Path, _ place: Path) -> Bool {
    path.count > place.count && place.contains(path)
  }
}
