public import ConiferTree

/// What a server does when the connection ends, as far as it has confirmed it.
///
/// It is knowledge about the server, and never applied to views or to the cache: whether the server
/// ran it, and over which data, only its next answers tell.
public struct DisconnectTree: Hashable, Sendable {
  /// What the node here becomes; nil when nothing is to happen with all of it.
  private var node: Node?
  private var children: [Key: DisconnectTree] = [:]

  /// Nothing is to happen.
  public init() {}

  /// Whether nothing is to happen.
  public var isEmpty: Bool { node == nil && children.isEmpty }

  /// The nodes that are replaced, in path order; none is below another.
  public var overwrites: [NodeChange] {
    var found: [NodeChange] = []
    var waiting = [(path: Path.root, tree: self)]
    while let (path, tree) = waiting.popLast() {
      if let node = tree.node { found.append(NodeChange(path, node)) }
      for (key, child) in tree.children.sorted(by: { $0.key > $1.key }) {
        waiting.append((path: path.appending(key), tree: child))
      }
    }
    return found
  }

  /// Notes a request that the server confirmed.
  public mutating func note(_ request: DisconnectRequest) {
    switch request {
    case .put(let path, let node): remember(path, node)
    case .merge(let path, let changes):
      for change in changes { remember(path.appending(change.path), change.node) }
    case .cancel(let path): forget(path)
    }
  }

  /// Notes that a node is to be replaced, instead of what was to happen at and below it.
  public mutating func remember(_ path: Path, _ new: Node) {
    guard let key = path.first else {
      node = new
      children = [:]
      return
    }
    if let node {
      self.node = node.setting(path, to: new)
    } else {
      children[key, default: DisconnectTree()].remember(path.dropFirst(), new)
    }
  }

  /// Notes that nothing is to happen at and below a path.
  ///
  /// What was to happen above it still happens to all else there; a leaf above has no parts.
  public mutating func forget(_ path: Path) {
    guard let key = path.first else {
      self = DisconnectTree()
      return
    }
    if let node {
      guard !node.isLeaf, !node.isEmpty else { return }
      self.node = nil
      for child in node.children { children[child.key] = DisconnectTree(child.node) }
      if let priority = node.priority {
        children[.priority] = DisconnectTree(Node(priority.leaf))
      }
    }
    children[key]?.forget(path.dropFirst())
    if children[key]?.isEmpty == true { children[key] = nil }
  }

  private init(_ node: Node) { self.node = node }
}
