import ConiferQuery
import ConiferTree

/// The open views at one path, and the points below.
final class SyncPoint {
  let path: Path
  /// In the order in which they opened.
  var views: [View] = []
  var children: [Key: SyncPoint] = [:]

  init(_ path: Path) { self.path = path }

  var isEmpty: Bool { views.isEmpty && children.isEmpty }

  /// A view that loads all data.
  var wholeView: View? { views.first { $0.loadsAllData } }

  /// The views here and below that no other view covers: those that need listens when nothing above
  /// listens.
  var topmost: [View] {
    if let wholeView { return [wholeView] }
    return views + topmostBelow
  }

  /// The topmost views below.
  var topmostBelow: [View] { sorted(children.keys).flatMap(\.topmost) }

  /// The points of some children, in the order of their keys.
  private func sorted(_ keys: some Sequence<Key>) -> [SyncPoint] {
    keys.sorted().compactMap { children[$0] }
  }

  /// Visits the views that changes concern, deeper ones first.
  ///
  /// - Parameters:
  ///   - changes: changed nodes, by paths relative to this point.
  ///   - body: is given a view and the changes relative to it.
  func visit(_ changes: [NodeChange], _ body: (View, [NodeChange]) -> Void) {
    if changes.isEmpty { return }
    if !children.isEmpty {
      for (key, below) in parts(of: changes).sorted(by: { $0.key < $1.key }) {
        children[key]?.visit(below, body)
      }
    }
    for view in views { body(view, changes) }
  }

  /// The changes that concern each child.
  private func parts(of changes: [NodeChange]) -> [Key: [NodeChange]] {
    var parts: [Key: [NodeChange]] = [:]
    for change in changes {
      if let key = change.path.first {
        guard children[key] != nil else { continue }
        parts[key, default: []].append(NodeChange(change.path.dropFirst(), change.node))
      } else {
        for key in children.keys {
          parts[key, default: []].append(NodeChange(.root, change.node[key]))
        }
      }
    }
    return parts
  }
}
