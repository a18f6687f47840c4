import ConiferDocument
import ConiferKeyValue
import ConiferServer
public import ConiferStorage
import ConiferTree
import ConiferWire

/// A responder with the page at `/` that shows a client's store to developers: the cached tree,
/// tracked queries, pins, the queue, dead letters and bytes. It changes nothing.
public struct StoreInspection: HTTPResponder {
  private let routes: PageRoutes

  /// The page of a store.
  ///
  /// - Parameters:
  ///   - backend: the store. Open it as an authority, so that a damaged store drops nothing. The
  ///     caller closes it.
  ///   - title: the store's title on the page.
  ///   - hostNames: names beside `localhost` and addresses under which the page may be served.
  public init(_ backend: any StorageBackend, title: String, hostNames: [String] = []) {
    // A store has no administrator: everybody who may open its files may see them. Other websites
    // are refused.
    routes = PageRoutes(
      source: StorePage(backend: backend, title: title), guardian: PageGuard(names: hostNames),
      isAdministrator: { _ in true })
  }

  /// Answers `/` and what is below `/.conifer/`.
  public func respond(to request: HTTPRequest) async -> HTTPResponse? {
    routes.respond(to: request)
  }
}

/// A client's store for the page.
struct StorePage: PageSource {
  let backend: any StorageBackend
  let title: String
  private let clock = ServerClock()

  init(backend: any StorageBackend, title: String) {
    self.backend = backend
    self.title = title
  }

  func facts() throws -> PageFacts {
    let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
    let names = trees.map(\.name)
    let hasDocuments = trees.contains { $0.order == .documents }
    return PageFacts(
      title: title, isWritable: false, spaces: names, first: names.first ?? "", spaceWord: "Tree",
      tables: StoreTable.allCases.filter { hasDocuments || !$0.isOfDocuments }
        .map { ($0.rawValue, $0.title) })
  }

  // Nobody else writes to an open store, so its data does not change.
  func pulse(of space: String) throws -> PagePulse {
    PagePulse(now: clock.now, version: 0, spaceCount: 0)
  }

  func windows(_ wanted: [PageWindow.Wanted], in space: String) throws -> [PageWindow] {
    try reading(space) { (view, info) throws(StoreError) in
      let documents = DocumentWindows(view: view, tree: info.id)
      return try wanted.map { wanted throws(StoreError) in try documents.window(wanted) }
    } nodes: { (view, info) throws(StoreError) in
      let tree = info.id
      var windows: [PageWindow] = []
      for wanted in wanted {
        let keys = try view.childKeys(tree, wanted.path, after: nil, limit: wanted.limit + 1)
        var children: [PageItem] = []
        for key in keys.prefix(wanted.limit) {
          children.append(try Self.item(view, tree, wanted.path.appending(key), key))
        }
        var item = try Self.item(view, tree, wanted.path, nil)
        let hasMore = keys.count > wanted.limit
        if case .object = item.form, !hasMore {
          item.form = .object(count: keys.count, leaves: nil, bytes: nil)
        }
        windows.append(PageWindow(item: item, children: children, hasMore: hasMore))
      }
      return windows
    }
  }

  /// A node as a row; the children of a node are not read.
  private static func item(
    _ view: any StorageView, _ tree: TreeID, _ path: Path, _ key: Key?
  ) throws(StoreError) -> PageItem {
    guard try view.childKeys(tree, path, after: nil, limit: 1).isEmpty else {
      let priority = try view.node(tree, path.appending(.priority)).leaf.flatMap { Priority($0) }
      return PageItem(key, .object(count: nil, leaves: nil, bytes: nil), priority: priority)
    }
    return PageItem(key, try view.node(tree, path))
  }

  func table(_ name: String, in space: String, limit: Int) throws -> PageTable? {
    guard let table = StoreTable(rawValue: name) else { return nil }
    switch table {
    case .bytes: return try StoreTable.bytes(of: backend, space, now: clock.now)
    case .collections:
      return try StoreTable.collections(of: backend, tree(space), limit: limit, now: clock.now)
    case .queries, .pins, .queue, .overlays, .dead: break
    }
    return try reading(space) { (view, info) throws(StoreError) in
      try table.rows(ofDocuments: view, info, limit: limit, now: clock.now)
    } nodes: { (view, info) throws(StoreError) in
      try table.rows(view, info, limit: limit, now: clock.now)
    }
  }

  /// The maximum bytes of text that are made in memory.
  static let longestExport = 256 << 20

  func export(_ path: Path, in space: String, pretty: Bool) throws -> [UInt8] {
    let text = try reading(space) { (view, info) throws(StoreError) -> [UInt8]? in
      try DocumentWindows(view: view, tree: info.id).export(
        path, in: DatabaseID(tree: space) ?? DatabaseID(project: space), pretty: pretty)
    } nodes: { (view, info) throws(StoreError) -> [UInt8]? in
      let tree = info.id
      let item = try Self.item(view, tree, path, nil)
      guard case .object = item.form else {
        return try view.node(tree, path).json(.export, pretty: pretty)
      }
      var writer = JSONWriter(pretty: pretty)
      writer.beginObject()
      if let priority = try view.node(tree, path.appending(.priority)).leaf {
        writer.key(".priority")
        writer.leaf(priority)
      }
      var last: Key?
      while true {
        let keys = try view.childKeys(tree, path, after: last, limit: 200)
        for key in keys {
          writer.key(key.string)
          try view.node(tree, path.appending(key)).write(to: &writer, .export)
          if writer.bytes.count > Self.longestExport { return nil }
        }
        guard let end = keys.last else { break }
        last = end
      }
      writer.endObject()
      return writer.bytes
    }
    guard let text else {
      throw PageRefusal(
        413,
        "The data is too large for the page. Use conifer export, which writes in pieces, or export less."
      )
    }
    return text
  }

  private func tree(_ space: String) throws -> TreeInfo {
    let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
    guard let info = trees.first(where: { $0.name.utf8.elementsEqual(space.utf8) }) else {
      throw PageRefusal(404, "There is no such tree in the store.")
    }
    return info
  }

  /// Reads a tree by what it holds.
  ///
  /// - Throws: `unsupported` when it holds documents and the backend keeps none.
  private func reading<R>(
    _ space: String, documents: (any DocumentView, TreeInfo) throws(StoreError) -> R,
    nodes: (any StorageView, TreeInfo) throws(StoreError) -> R
  ) throws -> R {
    let info = try tree(space)
    guard info.order == .documents else {
      return try backend.read { (view) throws(StoreError) in try nodes(view, info) }
    }
    return try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try documents(view, info)
    }
  }
}
