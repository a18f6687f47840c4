import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

/// The server data of earlier listens, as a backend keeps it.
final class StoredCache: ServerCache {
  private let backend: any StorageBackend
  private let tree: TreeID
  private let times: ServerTimes
  private let logger: Logger
  private var advice = IndexAdvice()

  init(_ backend: any StorageBackend, _ tree: TreeID, _ times: ServerTimes, _ logger: Logger) {
    self.backend = backend
    self.tree = tree
    self.times = times
    self.logger = logger
  }

  /// What is stored for a target, and no more of the tree than that; nothing when that cannot be
  /// read, which is logged: the server has it.
  ///
  /// A filtered query that is complete itself is answered with the keys it holds; a complete default
  /// query at or above the path answers any query; otherwise the children are given that are
  /// known to be whole.
  func cached(_ target: QueryTarget) -> CachedNode {
    do throws(StoreError) {
      return try stored(target)
    } catch {
      logger.error(
        "the cache could not be read", metadata: ["target": "\(target)", "cause": "\(error)"])
      return .unknown
    }
  }

  private func stored(_ target: QueryTarget) throws(StoreError) -> CachedNode {
    let (path, spec) = (target.path, target.spec.normalized)
    return try backend.read { (view) throws(StoreError) in
      // The result of a filtered listen is never older than other data at the path: when a listen
      // for all data completes, it marks the filtered queries as incomplete.
      if !spec.isDefault, let own = try view.trackedQuery(tree, path, spec.identifier),
        own.query.isComplete
      {
        let node = try children(view, path, try view.trackedKeys(tree, own.id))
        return CachedNode(
          node, isComplete: true, isFiltered: true, serverTime: times.time(of: target, isOwn: true))
      }
      if try view.isComplete(tree, path) {
        let time = times.time(of: target, isOwn: false)
        guard !spec.isDefault else {
          return CachedNode(
            try view.node(tree, path), isComplete: true, isFiltered: false, serverTime: time)
        }
        let answer = try view.query(tree, path, spec)
        advise(answer.worthwhileIndex)
        let node = Node(children: answer.children.map { ($0.key, $0.node) })
        return CachedNode(node, isComplete: true, isFiltered: true, serverTime: time)
      }
      let known = try view.knownCompleteChildren(tree, path)
      return CachedNode(
        try children(view, path, known.sorted()), isComplete: false, isFiltered: true)
    }
  }

  /// Tells the log of an index that would have spared reading a whole node.
  private func advise(_ index: IndexDefinition?) {
    guard let index, let named = advice.add(index) else { return }
    logger.notice(
      "a query reads all children of its place from the cache; an index would spare that",
      metadata: ["add": "\(named.rule)"])
  }

  private func children(
    _ view: any StorageView, _ path: Path, _ keys: [Key]
  ) throws(StoreError) -> Node {
    var children: [(Key, Node)] = []
    for key in keys { children.append((key, try view.node(tree, path.appending(key)))) }
    return Node(children: children)
  }
}
