import ConiferTree

/// The pending writes, found by path.
///
/// The newest write at or above a path decides what is there, with newer ones below laid over it.
/// Nothing is composed in advance: adding or removing a write costs the length of its paths.
final class Overlay {
  /// A write that was taken out.
  struct Removed {
    let id: OverlayID
    let changes: [NodeChange]
    let isVisible: Bool
  }

  /// The writes at one path and below.
  final class Branch {
    var writes = PathWrites()
    var children: [Key: Branch] = [:]
    /// An upper bound of the writes here and below.
    var newest = OverlayID(0)
    /// An upper bound of the writes below.
    var newestBelow = OverlayID(0)
  }

  private var root = Branch()
  private var all: [OverlayID: Removed] = [:]
  let visits = OverlayVisits()

  /// How many writes there are.
  var count: Int { all.count }

  /// The visible writes, in no order.
  var shown: some Sequence<Removed> { all.values.lazy.filter(\.isVisible) }

  /// Adds a write unless it is known.
  func add(_ id: OverlayID, _ changes: [NodeChange], isVisible: Bool) -> Bool {
    guard all[id] == nil else { return false }
    all[id] = Removed(id: id, changes: changes, isVisible: isVisible)
    for change in changes {
      var branch = root
      branch.newest = max(branch.newest, id)
      for key in change.path.keys {
        visits.count += 1
        branch.newestBelow = max(branch.newestBelow, id)
        let child = branch.children[key] ?? Branch()
        branch.children[key] = child
        child.newest = max(child.newest, id)
        branch = child
      }
      branch.writes.insert(id, change.node, isVisible: isVisible)
    }
    return true
  }

  /// Takes a write out; nil when there is none.
  func remove(_ id: OverlayID) -> Removed? {
    guard let removed = all.removeValue(forKey: id) else { return nil }
    for change in removed.changes { remove(id, at: change.path) }
    return removed
  }

  private func remove(_ id: OverlayID, at path: Path) {
    var branches = [root]
    for key in path.keys {
      visits.count += 1
      guard let child = branches[branches.count - 1].children[key] else { return }
      branches.append(child)
    }
    branches[branches.count - 1].writes.remove(id)
    for (i, key) in path.keys.enumerated().reversed() {
      let branch = branches[i + 1]
      guard branch.writes.isEmpty, branch.children.isEmpty else { return }
      branches[i].children[key] = nil
    }
  }

  /// Takes all writes out, in their order.
  func removeAll() -> [Removed] {
    defer {
      root = Branch()
      all = [:]
    }
    return all.values.sorted { $0.id < $1.id }
  }

  /// The writes at and below a path, and what those above put there.
  func cursor(at path: Path, _ filter: OverlayFilter = OverlayFilter()) -> OverlayCursor {
    var cursor = OverlayCursor(root, filter, visits)
    for key in path.keys { cursor = cursor.child(key) }
    return cursor
  }

  /// Whether a newer visible write at or above a path alone decides what is there.
  ///
  /// A deletion does not: what it leaves of a leaf above depends on earlier writes.
  func isCovered(_ path: Path, since id: OverlayID) -> Bool {
    var branch = root
    var rest = path.keys[...]
    while true {
      visits.count += 1
      guard id < branch.newest else { return false }
      if let newest = branch.writes.newest(OverlayFilter(), visits), id < newest.id {
        return !newest.node.isEmpty
      }
      guard let key = rest.popFirst(), let child = branch.children[key] else { return false }
      branch = child
    }
  }
}
