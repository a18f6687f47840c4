import ConiferStorage
import ConiferTree

/// A local write as the API hands it over: checked, with server values unresolved and paths from the
/// root.
enum LocalWrite: Sendable {
  /// Replaces one node; a last segment `.priority` sets a priority alone.
  case set(Path, Node)
  /// Replaces several nodes at once, all or none; the path is the one that the app named.
  case update(Path, [NodeChange])

  /// What is queued of it.
  func content(time: Int64) -> WriteContent {
    switch self {
    case .set(let path, let node): .set(path, node, time: time)
    case .update(let path, let changes):
      WriteContent(kind: .update, path: path, changes: changes, time: time)
    }
  }
}
