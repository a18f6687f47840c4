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

  /// The topmost views here and below, that no other one covers: those that listen themselves when
  /// nothing above does.
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
    if children.isEmpty {
      // Nothing below listens.
    } else if changes.contains(where: \.path.isRoot) {
      for child in sorted(children.keys) {
        guard let key = child.path.last else { continue }
        child.visit(changes.compactMap { $0.path.isRoot ? NodeChange(.root, $0.node[key]) : $0.entering(key) }, body)
      }
    } else {
      var below: [Key: [NodeChange]] = [:]
      for change in changes {
        guard let key = change.path.first, children[key] != nil else { continue }
        below[key, default: []].append(NodeChange(change.path.dropFirst(), change.node))
      }
      for child in sorted(below.keys) {
        if let key = child.path.last { child.visit(below[key] ?? [], body) }
      }
    }
    for view in views { body(view, changes) }
  }
}

extension NodeChange {
  /// The change relative to a child; nil when it is of another one.
  fileprivate func entering(_ key: Key) -> NodeChange? {
    path.first == key ? NodeChange(path.dropFirst(), node) : nil
  }
}
