import ConiferQuery
import ConiferTree
import TestSupport

@testable import ConiferSync

/// A server with one tree, a client with a `SyncTree`, and a naive notion of what views must show.
struct Model {
  private struct Write {
    let position: LanePosition
    let changes: [NodeChange]
    let isVisible: Bool
  }

  private let tree = SyncTree(cache: nil)
  var data: ModelData
  private var server = Node.empty
  private var pending: [Write] = []
  /// The listens that the client asked for, and whether the server has answered.
  private var listens: [(listen: Listen, isAnswered: Bool)] = []
  /// Listens whose end the server has not heard of.
  private var ended: [Listen] = []
  private var replicas: [ListenerID: Replica] = [:]
  /// The keys of filtered queries that a store would hold.
  private var tracked: [QueryTarget: Set<Key>] = [:]
  private var lastListener: UInt64 = 0
  private var lastWrite: UInt64 = 0
  private(set) var log: [String] = []
  /// How often what a listener shows was compared with what it must.
  private(set) var checks = 0

  init(seed: UInt64) {
    data = ModelData(seed)
    server = data.node(depth: 4)
  }

  mutating func step() throws {
    switch data.random.below(100) {
    case ..<12: try listen()
    case ..<18: try stop()
    case ..<40: try answer()
    case ..<58: try changeServer()
    case ..<80: try write()
    case ..<90: try acknowledge()
    case ..<97: try revert()
    case 97:
      log.append("revert all")
      pending = []
      try follow(tree.revertAll())
    case 98:
      ended = []
    default:
      let target = QueryTarget(data.place())
      log.append("stop all at \(target)")
      for (id, replica) in replicas where replica.target.path == target.path { replicas[id] = nil }
      try follow(tree.stopAll(target))
    }
    try check()
  }

  // MARK: Listeners

  private mutating func listen() throws {
    lastListener += 1
    let id = ListenerID.app(lastListener)
    let target = try data.target()
    log.append("listen \(id.number) to \(target)")
    replicas[id] = Replica(target)
    try follow(try tree.listen(id, to: target, kinds: .all))
  }

  private mutating func stop() throws {
    guard
      let id = replicas.keys.sorted(by: { $0.number < $1.number })
        .randomElement(using: &data.random)
    else { return }
    log.append("stop \(id.number)")
    replicas[id] = nil
    try follow(tree.stop(id))
  }

  // MARK: Server

  private mutating func answer() throws {
    guard
      let i = listens.indices.filter({ !listens[$0].isAnswered })
        .randomElement(using: &data.random)
    else { return }
    let listen = listens[i].listen
    listens[i].isAnswered = true
    let node = listen.target.spec.filtered(server[listen.target.path])
    guard let known = tree.sentData(of: listen.target) else {
      throw Wrong("no view of \(listen.target)")
    }
    let isKnown = known == node
    log.append("answer \(listen.target), known: \(isKnown)")
    if !isKnown { try follow(tree.overwrite(listen.target.path, node, tag: listen.tag)) }
    try follow(tree.complete(listen.target))
  }

  private mutating func changeServer() throws {
    let changes = data.changes()
    log.append("server \(changes)")
    try apply(changes)
  }

  private mutating func apply(_ changes: [NodeChange]) throws {
    let old = server
    for change in changes { server = server.setting(change.path, to: change.node) }
    for (listen, isAnswered) in listens where isAnswered { try push(listen, changes, old) }
    for listen in ended { try push(listen, changes, old) }
  }

  private mutating func push(_ listen: Listen, _ changes: [NodeChange], _ old: Node) throws {
    let path = listen.target.path
    guard let tag = listen.tag else {
      let below = changes.compactMap { change in
        change.path.relative(to: path).map { NodeChange($0, server[change.path]) }
      }
      if below.count > 1 {
        try follow(tree.merge(path, below))
      } else if let change = below.first {
        try follow(tree.overwrite(path.appending(change.path), change.node))
      } else if changes.contains(where: { $0.path.contains(path) }) {
        try follow(tree.overwrite(path, server[path]))
      }
      return
    }
    let window = listen.target.spec.filtered(server[path])
    let differences = window.changes(since: listen.target.spec.filtered(old[path]))
      .filter { $0.old != $0.new }
    if differences.isEmpty { return }
    if data.random.chance(20) { return try follow(tree.overwrite(path, window, tag: tag)) }
    try follow(
      tree.merge(path, differences.map { NodeChange(Path([$0.key]), $0.new) }, tag: tag))
  }

  // MARK: Writes

  private mutating func write() throws {
    lastWrite += 1
    let changes = data.changes()
    let write = Write(
      position: LanePosition(lastWrite), changes: changes, isVisible: data.random.chance(90))
    log.append("write \(lastWrite) \(changes)\(write.isVisible ? "" : " hidden")")
    pending.append(write)
    try follow(
      tree.write(
        write.position, changes, isVisible: write.isVisible))
  }

  private mutating func acknowledge() throws {
    guard !pending.isEmpty else { return }
    let write = pending[0]
    log.append("acknowledge \(write.position.number)")
    try apply(write.changes)
    pending.removeFirst()
    try follow(tree.acknowledge(write.position))
  }

  private mutating func revert() throws {
    guard !pending.isEmpty else { return }
    let write = pending.remove(at: data.random.chance(70) ? 0 : data.random.below(pending.count))
    log.append("revert \(write.position.number)")
    try follow(tree.revert(write.position))
  }

  // MARK: Checks

  private mutating func follow(_ result: SyncResult) throws {
    for listen in result.started {
      guard !listens.contains(where: { $0.listen == listen }) else {
        throw Wrong("\(listen) is started twice")
      }
      listens.append((listen, false))
    }
    for listen in result.stopped {
      guard let i = listens.firstIndex(where: { $0.listen == listen }) else {
        throw Wrong("\(listen) is stopped, but was not started")
      }
      if listens[i].isAnswered && listen.tag != nil { ended.append(listen) }
      listens.remove(at: i)
    }
    for window in result.windowChanges {
      if window.replacesAll { tracked[window.target] = [] }
      tracked[window.target, default: []].formUnion(window.added)
      tracked[window.target, default: []].subtract(window.removed)
    }
    for id in replicas.keys {
      guard let view = tree.views.view(of: id) else {
        throw Wrong("listener \(id.number) is lost")
      }
      let events = result.events.filter { $0.listener == id }.map(\.event)
      try replicas[id]?.follow(events, view)
    }
  }

  private mutating func check() throws {
    let state = pending.filter(\.isVisible).flatMap(\.changes)
      .reduce(server) { $0.setting($1.path, to: $1.node) }
    for replica in replicas.values {
      let target = replica.target
      guard let view = tree.view(of: target) else { throw Wrong("no view of \(target)") }
      let expected: Node
      if let above = listens.first(where: {
        $0.listen.tag == nil && $0.listen.target.path.contains(target.path)
      }) {
        guard above.isAnswered else { continue }
        expected = target.spec.filtered(state[target.path])
        guard tree.value(at: target.path) == state[target.path] else {
          throw Wrong("the value at \(target.path) is not that of the whole tree")
        }
      } else {
        guard listens.contains(where: { $0.listen == view.listen && $0.isAnswered }) else {
          continue
        }
        expected = target.spec.filtered(known(target))
        let window = target.spec.filtered(server[target.path])
        guard view.server.sent == window else {
          throw Wrong("the window of \(target) is \(view.server.sent.debugDescription)")
        }
        guard tracked[target] == Set(window.children.map(\.key)) else {
          throw Wrong("the tracked keys of \(target) are \(tracked[target] ?? [])")
        }
      }
      guard view.isComplete, view.shown.node == expected else {
        throw Wrong(
          "\(target) shows \(view.shown.node.debugDescription), not \(expected.debugDescription)")
      }
      checks += 1
    }
  }

  /// What is known of a node when the server sends the result of a query alone.
  private func known(_ target: QueryTarget) -> Node {
    var node = target.spec.filtered(server[target.path])
    var known: Set<Key>? = Set(node.children.map(\.key))
    for change in pending.filter(\.isVisible).flatMap(\.changes) {
      if let above = target.path.relative(to: change.path) {
        node = change.node[above]
        known = nil
      } else if let below = change.path.relative(to: target.path), let key = below.first {
        if known?.contains(key) == false && below.count > 1 { continue }
        known?.insert(key)
        node = node.setting(below, to: change.node)
      }
    }
    return node
  }
}
