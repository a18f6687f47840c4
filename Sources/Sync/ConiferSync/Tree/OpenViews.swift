import ConiferQuery
import ConiferTree

/// The open views by listener, by path and by tag: which there are, and which listens they need.
///
/// A view is open while somebody listens to it. The server is asked for a listen of each view, but for those at and below
/// a path of which a view loads all data.
struct OpenViews {
  private let root = SyncPoint(.root)
  private var byListener: [ListenerID: View] = [:]
  private var byTag: [Int: View] = [:]
  /// The last tag that was given to a filtered view.
  private(set) var lastTag = 0
  private let times: ServerTimes

  init(_ times: ServerTimes) { self.times = times }

  // MARK: Which there are

  /// Whether there is none, and nothing is kept of earlier ones.
  var isEmpty: Bool { root.isEmpty && byListener.isEmpty && byTag.isEmpty }

  /// The listeners of all.
  var listeners: some Collection<ListenerID> { byListener.keys }

  /// The view of a listener.
  func view(of listener: ListenerID) -> View? { byListener[listener] }

  /// The filtered view with a tag.
  func view(tagged tag: Int) -> View? { byTag[tag] }

  /// The view of exactly a target; for the default target any view that loads all data.
  func view(of target: QueryTarget) -> View? {
    view(exactlyOf: target)
      ?? (target.spec.loadsAllData ? point(at: target.path)?.wholeView : nil)
  }

  private func view(exactlyOf target: QueryTarget) -> View? {
    point(at: target.path)?.views.first { $0.target.spec == target.spec }
  }

  /// The whole views of a path's children.
  func wholeChildren(of path: Path) -> [(key: Key, view: View)] {
    (point(at: path)?.children ?? [:]).compactMap { key, child in
      child.wholeView.map { (key, $0) }
    }
  }

  /// Whether a view at a path or above it has a property.
  func contains(covering path: Path, where isWanted: (View) -> Bool = { _ in true }) -> Bool {
    points(along: path).contains { $0.views.contains(where: isWanted) }
  }

  /// Whether a view that loads all data is open at a path or above.
  func hasWholeView(covering path: Path) -> Bool { wholeView(covering: path) != nil }

  /// The view at a path or above whose listen loads all data there.
  private func wholeView(covering path: Path) -> View? {
    points(along: path).lazy.compactMap(\.wholeView).first
  }

  /// Whether a view is open at a path or below it.
  func contains(within path: Path) -> Bool { point(at: path).map { !$0.isEmpty } ?? false }

  /// The paths at which views are open.
  var paths: [Path] {
    var (found, waiting) = ([Path](), [root])
    while let point = waiting.popLast() {
      if !point.views.isEmpty { found.append(point.path) }
      waiting += point.children.values
    }
    return found
  }

  /// The whole server data at a path, with acknowledged writes, and the view at or above that knows it; nil when none
  /// does.
  func serverData(at path: Path) -> (node: Node, view: View)? {
    for point in points(along: path) {
      guard let rest = path.relative(to: point.path) else { continue }
      // Views that load all data know more, so they are asked first.
      for view in point.views where view.loadsAllData {
        if let node = view.serverData(at: rest) { return (node, view) }
      }
      for view in point.views where !view.loadsAllData {
        if let node = view.serverData(at: rest) { return (node, view) }
      }
    }
    return nil
  }

  /// Visits the views that changes concern, deeper ones first.
  ///
  /// - Parameters:
  ///   - changes: changed nodes, by absolute paths.
  ///   - body: is given a view and the changes relative to it.
  func visit(_ changes: [NodeChange], _ body: (View, [NodeChange]) -> Void) {
    root.visit(changes, body)
  }

  /// The points on the way from the root to a path, as far as they exist.
  private func points(along path: Path) -> [SyncPoint] {
    var points = [root]
    for key in path.keys {
      guard let next = points[points.count - 1].children[key] else { break }
      points.append(next)
    }
    return points
  }

  /// The point at a path, if there is one.
  private func point(at path: Path) -> SyncPoint? {
    points(along: path).last.flatMap { $0.path.count == path.count ? $0 : nil }
  }

  // MARK: Listeners

  /// Adds a listener to the open view of exactly a target.
  ///
  /// - Returns: the view; nil when none is open.
  mutating func add(_ listener: View.Listener, to target: QueryTarget) -> View? {
    guard let view = view(exactlyOf: target) else { return nil }
    add(listener, to: view)
    return view
  }

  private mutating func add(_ listener: View.Listener, to view: View) {
    view.listeners.append(listener)
    byListener[listener.id] = view
  }

  /// Opens the view of a target for a listener.
  ///
  /// - Parameters:
  ///   - known: what is known of the server's data.
  ///   - overlay: the pending writes.
  mutating func open(
    _ target: QueryTarget, for listener: View.Listener, _ known: CachedNode, _ overlay: Overlay,
    into result: inout SyncResult
  ) -> View {
    let cover = wholeView(covering: target.path)
    var tag: Int?
    if !target.spec.loadsAllData {
      lastTag += 1
      tag = lastTag
    }
    let contact: ServerContact
    if let cover, cover.contact != .none {
      contact = cover.contact
    } else {
      contact = known.serverTime.map { .past($0) } ?? .none
    }
    let view = View(target, tag: tag, known, contact, overlay)
    if let tag { byTag[tag] = view }
    let point = makePoint(at: target.path)
    if cover == nil {
      result.started.append(view.listen)
      if view.loadsAllData {
        result.stopped = (point.views + point.topmostBelow).map(\.listen)
      }
    }
    point.views.append(view)
    add(listener, to: view)
    return view
  }

  private func makePoint(at path: Path) -> SyncPoint {
    var point = root
    for key in path.keys {
      let next = point.children[key] ?? SyncPoint(point.path.appending(key))
      point.children[key] = next
      point = next
    }
    return point
  }

  /// Ends a listener; an unknown one is ignored.
  mutating func stop(_ id: ListenerID) -> SyncResult {
    var result = SyncResult()
    guard let view = byListener.removeValue(forKey: id) else { return result }
    view.listeners.removeAll { $0.id == id }
    closeViews(at: view.target.path, isCancelled: false, into: &result)
    return result
  }

  /// Ends all listeners of a target but the silent ones; for the default target, all at its path.
  mutating func stopAll(_ target: QueryTarget) -> SyncResult {
    var result = SyncResult()
    for view in point(at: target.path)?.views ?? []
    where target.spec.isDefault || view.target.spec == target.spec {
      for listener in view.listeners where !listener.id.isSilent { byListener[listener.id] = nil }
      view.listeners.removeAll { !$0.id.isSilent }
    }
    closeViews(at: target.path, isCancelled: false, into: &result)
    return result
  }

  /// Ends the listeners of a listen that the server refused or revoked, as `SyncTree.cancel` says.
  mutating func cancel(_ target: QueryTarget) -> (listeners: [ListenerID], result: SyncResult) {
    func isCancelled(_ view: View) -> Bool {
      target.spec.loadsAllData ? view.loadsAllData : view.target.spec == target.spec
    }
    let path = target.path
    var listeners: [ListenerID] = []
    var result = SyncResult()
    guard let point = point(at: path), !(path.parent.map { hasWholeView(covering: $0) } ?? false)
    else {
      return (listeners, result)
    }
    let isWhole = point.wholeView.map(isCancelled) ?? true
    for view in point.views where isCancelled(view) && isWhole {
      listeners += view.listeners.map(\.id)
      view.listeners = []
    }
    for id in listeners { byListener[id] = nil }
    closeViews(at: path, isCancelled: true, into: &result)
    return (listeners, result)
  }

  /// The connection broke: no listen stands until the server has answered it again.
  func disconnected() { root.visitAll { $0.contact.lapse() } }

  /// Closes the views of a path that nobody listens to.
  private mutating func closeViews(
    at path: Path, isCancelled: Bool, into result: inout SyncResult
  ) {
    guard let point = point(at: path) else { return }
    let closed = point.views.filter(\.listeners.isEmpty)
    guard !closed.isEmpty else { return }
    point.views.removeAll { $0.listeners.isEmpty }
    for tag in closed.compactMap(\.tag) { byTag[tag] = nil }
    if !isCancelled {
      for view in closed { if let time = view.contact.time { times.note(view.target, at: time) } }
    }
    if !hasWholeView(covering: path) {
      if let whole = closed.first(where: \.loadsAllData) {
        point.visitAll { $0.contact.lapse() }
        result.started = point.topmost.map(\.listen)
        if !isCancelled { result.stopped = [whole.listen] }
      } else if !isCancelled {
        result.stopped = closed.map(\.listen)
      }
    }
    prune(path)
  }

  /// Removes the points of a path that hold nothing.
  private func prune(_ path: Path) {
    let points = points(along: path)
    for (i, key) in path.keys.enumerated().reversed() where i + 1 < points.count {
      guard points[i + 1].isEmpty else { return }
      points[i].children[key] = nil
    }
  }
}

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

  /// Visits all views here and below.
  func visitAll(_ body: (View) -> Void) {
    views.forEach(body)
    for child in children.values { child.visitAll(body) }
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
