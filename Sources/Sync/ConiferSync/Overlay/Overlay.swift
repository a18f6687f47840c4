import ConiferTree

/// The pending writes, found by path.
///
/// The newest write at or above a path decides what is there, with newer ones below laid over it.
/// No combined data is kept, so adding or removing a write costs only the length of its paths.
final class Overlay {
  /// A pending write.
  struct Write {
    let position: LanePosition
    let changes: [NodeChange]
    let isVisible: Bool
  }

  /// The writes at one path and below.
  final class Branch {
    var writes = PathWrites()
    var children: [Key: Branch] = [:]
    /// An upper bound of the writes here and below.
    var newest = LanePosition(0)
    /// An upper bound of the writes below.
    var newestBelow = LanePosition(0)
  }

  private var root = Branch()
  private var all: [LanePosition: Write] = [:]
  let visits = OverlayVisits()

  /// How many writes there are.
  var count: Int { all.count }

  /// Whether it holds a write.
  func contains(_ position: LanePosition) -> Bool { all[position] != nil }

  /// The visible writes, in no order.
  var visible: some Sequence<Write> { all.values.lazy.filter(\.isVisible) }

  /// Adds a write unless it is known.
  func add(_ position: LanePosition, _ changes: [NodeChange], isVisible: Bool) -> Bool {
    guard all[position] == nil else { return false }
    all[position] = Write(position: position, changes: changes, isVisible: isVisible)
    for change in changes {
      var branch = root
      branch.newest = max(branch.newest, position)
      for key in change.path.keys {
        visits.count += 1
        branch.newestBelow = max(branch.newestBelow, position)
        let child = branch.children[key] ?? Branch()
        branch.children[key] = child
        child.newest = max(child.newest, position)
        branch = child
      }
      branch.writes.insert(position, change.node, isVisible: isVisible)
    }
    return true
  }

  /// Takes a write out; nil when there is none.
  func remove(_ position: LanePosition) -> Write? {
    guard let removed = all.removeValue(forKey: position) else { return nil }
    for change in removed.changes { remove(position, at: change.path) }
    return removed
  }

  private func remove(_ position: LanePosition, at path: Path) {
    var branches = [root]
    for key in path.keys {
      visits.count += 1
      guard let child = branches[branches.count - 1].children[key] else { return }
      branches.append(child)
    }
    branches[branches.count - 1].writes.remove(position)
    for (i, key) in path.keys.enumerated().reversed() {
      let branch = branches[i + 1]
      guard branch.writes.isEmpty, branch.children.isEmpty else { return }
      branches[i].children[key] = nil
    }
  }

  /// Takes all writes out, in their order.
  func removeAll() -> [Write] {
    defer {
      root = Branch()
      all = [:]
    }
    return all.values.sorted { $0.position < $1.position }
  }

  /// Takes the writes of the queue out, in their order.
  func removeQueued() -> [Write] {
    all.keys.filter(\.isQueued).sorted().compactMap { remove($0) }
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
  func isCovered(_ path: Path, since position: LanePosition) -> Bool {
    var branch = root
    var rest = path.keys[...]
    while true {
      visits.count += 1
      guard position < branch.newest else { return false }
      if let newest = branch.writes.newest(OverlayFilter(), visits), position < newest.position {
        return !newest.node.isEmpty
      }
      guard let key = rest.popFirst(), let child = branch.children[key] else { return false }
      branch = child
    }
  }
}

/// The pending writes of a filter at and below one path, and what those above put there.
struct OverlayCursor {
  private let filter: OverlayFilter
  private let visits: OverlayVisits
  /// What the newest write at or above the path put there; nil when there is none.
  private(set) var cover: Node?
  /// That write; only newer ones below it show.
  private var floor: LanePosition?
  /// The writes here and below, if any is newer than the floor.
  private var branch: Overlay.Branch?

  init(_ root: Overlay.Branch, _ filter: OverlayFilter, _ visits: OverlayVisits) {
    self.filter = filter
    self.visits = visits
    enter(root)
  }

  private mutating func enter(_ next: Overlay.Branch?) {
    branch = nil
    guard let next, isNew(next.newest) else { return }
    visits.count += 1
    branch = next
    if let write = next.writes.newest(filter, visits), isNew(write.position) {
      cover = write.node
      floor = write.position
    }
  }

  private func isNew(_ position: LanePosition) -> Bool { floor.map { $0 < position } ?? true }

  /// The cursor of a child.
  func child(_ key: Key) -> OverlayCursor {
    var child = self
    child.cover = cover?[key]
    child.enter(branch?.children[key])
    return child
  }

  /// Whether a write decides what is here, or a part of it.
  var hasWrites: Bool { cover != nil || branch.map { holdsWrites($0) } ?? false }

  private func holdsWrites(_ branch: Overlay.Branch) -> Bool {
    branch.writes.newest(filter, visits) != nil
      || branch.children.values.contains { holdsWrites($0) }
  }

  /// The children at or below which there are writes, some of which may not count.
  var writtenChildren: some Collection<Key> { (branch?.children ?? [:]).keys }

  /// The priority from a write of the priority alone that is newer than the write of the node; the empty
  /// node if it removed the priority.
  private var priority: Node? {
    guard let write = branch?.children[.priority]?.writes.newest(filter, visits),
      isNew(write.position)
    else { return nil }
    return write.node
  }

  /// The server's data with the writes laid over it.
  ///
  /// - Parameters:
  ///   - server: what the server has at the path.
  ///   - isWhole: whether that is the whole node; otherwise its children are whole, others are unknown,
  ///     and only a write of a whole child adds one.
  func applied(to server: Node, isWhole: Bool = true) -> Node {
    let base = cover ?? server
    guard let branch, isNew(branch.newestBelow) else { return base }
    let isWhole = isWhole || cover != nil
    var result = base
    for key in branch.children.keys where !key.isPriority {
      visits.count += 1
      let child = child(key)
      guard child.branch != nil else { continue }
      let old = base[key]
      if !isWhole && child.cover == nil && old.isEmpty { continue }
      result = result.setting(key, to: child.applied(to: old))
    }
    if result.isLeaf && isReplacedBelow { result = .empty }
    return isWhole ? prioritised(result, base) : result
  }

  /// Data that had the writes laid over it, brought up to date where something changed.
  ///
  /// - Parameters:
  ///   - old: the data as it was.
  ///   - server: what the server has at the path.
  ///   - keys: the way down to where writes or the server's data changed.
  ///   - isWhole: as in `applied(to:isWhole:)`.
  func refreshed(
    _ old: Node, over server: Node, along keys: ArraySlice<Key>, isWhole: Bool = true
  ) -> Node {
    guard let key = keys.first else { return applied(to: server, isWhole: isWhole) }
    let base = cover ?? server
    // A leaf that became a map shares nothing with its old value.
    if old.isLeaf && !base.isLeaf { return applied(to: server, isWhole: isWhole) }
    let isWhole = isWhole || cover != nil
    var result = old
    if !key.isPriority {
      let child = child(key)
      if !isWhole && child.cover == nil && base[key].isEmpty {
        result = old.setting(key, to: .empty)
      } else {
        let node = child.refreshed(old[key], over: base[key], along: keys.dropFirst())
        result = old.setting(key, to: node)
      }
      // A leaf that only a write below it had made a map is a leaf again.
      if result.isEmpty && base.isLeaf && !isReplacedBelow { result = base }
    }
    return isWhole ? prioritised(result, base) : result
  }

  /// Whether a write below made a map of a leaf that was here, even if it was overwritten since.
  private var isReplacedBelow: Bool {
    guard let branch, isNew(branch.newestBelow) else { return false }
    return branch.children.contains { key, child in !key.isPriority && hasData(child) }
  }

  private func hasData(_ branch: Overlay.Branch) -> Bool {
    guard isNew(branch.newest) else { return false }
    return branch.writes.holdsData(newerThan: floor, filter, visits)
      || branch.children.contains { key, child in !key.isPriority && hasData(child) }
  }

  private func prioritised(_ node: Node, _ base: Node) -> Node {
    node.isEmpty ? node : node.setting(.priority, to: priority ?? base[.priority])
  }
}

/// How many nodes and writes of an overlay were visited; tests of its cost read it.
final class OverlayVisits {
  var count = 0
}
