import ConiferKeyValue
import ConiferQuery
import ConiferSync
import ConiferTree

/// The client's own branch `.info`: views of what it knows of its connection, without a server or storage.
final class InfoViews {
  private enum Name: String {
    case connected
    case serverTimeOffset

    fileprivate var path: Path { Path([.info, Key(rawValue)]) }
  }

  /// The values that are known; what is not known is incomplete, and raises no event.
  private final class Known: ServerCache {
    var node = Node.empty

    func cached(_ target: QueryTarget) -> CachedNode {
      let node = node[target.path]
      return CachedNode(node, isComplete: !node.isEmpty, isFiltered: false)
    }
  }

  private let known = Known()
  private let tree: SyncTree
  private let isConnected: StateSource<Bool>
  private let clock: ServerClock

  init(_ isConnected: StateSource<Bool>, _ clock: ServerClock) {
    self.isConnected = isConnected
    self.clock = clock
    tree = SyncTree(cache: known)
    _ = set(.connected, Node(.bool(false)))
  }

  func contains(_ id: ListenerID) -> Bool { tree.contains(id) }

  /// What is known at a target.
  func node(_ target: QueryTarget) -> Node { target.spec.filtered(known.node[target.path]) }

  /// There is a connection, or no longer.
  func connected(_ isConnected: Bool) -> SyncResult {
    self.isConnected.set(isConnected)
    return set(.connected, Node(.bool(isConnected)))
  }

  /// It became known by how much the server's time is ahead of the device's, in milliseconds.
  func offset(_ milliseconds: Int64) -> SyncResult {
    clock.set(offset: milliseconds)
    return set(.serverTimeOffset, Node(.double(Double(milliseconds))))
  }

  /// The database is closed.
  func close() {
    isConnected.set(false)
    isConnected.finish()
  }

  private func set(_ name: Name, _ node: Node) -> SyncResult {
    known.node = known.node.setting(name.path, to: node)
    return Self.own(tree.overwrite(name.path, node))
  }

  /// What is told, as known from the client itself.
  private static func own(_ result: SyncResult) -> SyncResult {
    var result = result
    for index in result.events.indices { result.events[index].event.knowledge = .own }
    return result
  }

  /// Begins to listen; what is known is told at once.
  func listen(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds
  ) -> SyncResult {
    do throws(StoreError) {
      return Self.own(try tree.listen(id, to: target, kinds: kinds))
    } catch {
      // What is known stands in memory: reading it throws nothing.
      return SyncResult()
    }
  }

  func stop(_ id: ListenerID) -> SyncResult { tree.stop(id) }

  func stopAll(_ target: QueryTarget) -> SyncResult { tree.stopAll(target) }
}
