import ConiferKeyValue
import ConiferQuery
import ConiferSync
import ConiferTree

/// The client's own branch `.info`: views without a server or storage.
struct InfoViews {
  /// What the branch tells.
  enum Name: String {
    case connected
    case serverTimeOffset

    fileprivate var path: Path { Path([.info, Key(rawValue)]) }
  }

  /// What is known; the rest raises nothing.
  private final class Known: ServerCache {
    var node = Node.empty

    func cached(_ target: QueryTarget) -> CachedNode {
      let node = node[target.path]
      return CachedNode(node, isComplete: !node.isEmpty, isFiltered: false)
    }
  }

  private let known = Known()
  private let tree: SyncTree
  private var listeners: Set<ListenerID> = []

  init() {
    tree = SyncTree(cache: known)
    _ = set(.connected, Node(.bool(false)))
  }

  func contains(_ id: ListenerID) -> Bool { listeners.contains(id) }

  /// What is known at a target.
  func node(_ target: QueryTarget) -> Node { target.spec.filtered(known.node[target.path]) }

  /// What a fact becomes, for the listeners of it.
  func set(_ name: Name, _ node: Node) -> SyncResult {
    known.node = known.node.setting(name.path, to: node)
    return tree.overwrite(name.path, node)
  }

  /// Begins to listen; what is known is told at once.
  mutating func listen(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds
  ) -> SyncResult {
    listeners.insert(id)
    do throws(StoreError) {
      return try tree.listen(id, to: target, kinds: kinds)
    } catch {
      // What is known stands in memory: reading it throws nothing.
      return SyncResult()
    }
  }

  mutating func stop(_ id: ListenerID) -> SyncResult {
    listeners.remove(id)
    return tree.stop(id)
  }

  func stopAll(_ target: QueryTarget) -> SyncResult { tree.stopAll(target) }
}
