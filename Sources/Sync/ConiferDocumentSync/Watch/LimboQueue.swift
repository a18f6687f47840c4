package import ConiferDocument
package import ConiferWire

/// What a queue of documents in limbo asks for.
package enum LimboAction: Sendable, Hashable {
  /// A document is to be listened to.
  case listen(WatchTarget)
  /// It is to be listened to no longer.
  case unlisten(TargetID)
}

/// Documents that views show although the server has not said that they match. The client listens
/// to each of them alone until the server answers: to some at the same time, to the others in the
/// order in which they came.
///
/// A document leaves the queue when no view has it in limbo any more, because it was changed, is
/// missing, or the server named it. It also leaves when the server refuses the listen; then the
/// document is forgotten.
package struct LimboQueue: Sendable {
  /// A document that is listened to.
  private struct Resolution: Sendable {
    let path: DocumentPath
    /// Whether the server has said that it exists.
    var isFound = false
  }

  private let database: DatabaseID
  private let limit: Int
  /// The views, by their targets, that have a document in limbo.
  private var views: [DocumentPath: Set<TargetID>] = [:]
  /// The waiting documents in order. An entry whose document no longer waits under this number is
  /// skipped.
  private var queue: [(path: DocumentPath, number: UInt64)] = []
  private var waiting: [DocumentPath: UInt64] = [:]
  private var nextNumber: UInt64 = 0
  private var resolutions: [TargetID: Resolution] = [:]
  private var active: [DocumentPath: TargetID] = [:]
  private var nextTarget: TargetID = 1

  /// - Parameters:
  ///   - database: the database that documents are in.
  ///   - limit: how many are listened to at once.
  package init(_ database: DatabaseID, limit: Int = 100) {
    self.database = database
    self.limit = limit
  }

  /// The documents that are listened to, with their targets.
  package var activeTargets: [DocumentPath: TargetID] { active }
  /// The documents that wait, in order.
  package var waitingPaths: [DocumentPath] {
    queue.filter { waiting[$0.path] == $0.number }.map(\.path)
  }

  /// The document of a target; nil when it is none of limbo's.
  package func document(of target: TargetID) -> DocumentPath? { resolutions[target]?.path }

  /// The documents that the server said match a target: the one, when it was found; nil when the target is
  /// none of limbo's.
  package func matched(_ target: TargetID) -> Set<DocumentPath>? {
    resolutions[target].map { $0.isFound ? [$0.path] : [] }
  }

  /// What is in limbo in a view has changed.
  package mutating func viewChanged(
    _ view: TargetID, into: Set<DocumentPath>, outOf: Set<DocumentPath>
  ) -> [LimboAction] {
    for path in into.sorted() {
      views[path, default: []].insert(view)
      guard active[path] == nil, waiting[path] == nil else { continue }
      waiting[path] = nextNumber
      queue.append((path, nextNumber))
      nextNumber += 1
    }
    var actions: [LimboAction] = []
    for path in outOf.sorted() { actions += leave(path, view) }
    return actions + begin()
  }

  /// A view ended.
  package mutating func viewEnded(_ view: TargetID) -> [LimboAction] {
    let paths = views.filter { $0.value.contains(view) }.keys.sorted()
    return paths.flatMap { leave($0, view) } + begin()
  }

  /// The server said something of targets; the store has it.
  package mutating func stored(_ event: RemoteEvent) {
    for id in resolutions.keys {
      guard let change = event.targets[id] else { continue }
      if !change.added.isEmpty { resolutions[id]?.isFound = true }
      if !change.removed.isEmpty { resolutions[id]?.isFound = false }
    }
  }

  /// What the server is asked of a document in limbo.
  func request(_ path: DocumentPath, _ target: TargetID) -> WatchTarget {
    WatchTarget(target, DocumentQuery(.document(path), in: database).target, .limboResolution)
  }

  /// What is to be taken in when the server refuses a target of limbo's: the document is forgotten.
  ///
  /// - Returns: the event; nil when the target is none of limbo's.
  package func refusal(of target: TargetID) -> RemoteEvent? {
    guard let path = document(of: target) else { return nil }
    return RemoteEvent(
      version: .zero, documents: [Document(path, .missing)], resolvedLimbo: [path])
  }

  /// A target was refused, and what `refusal` says is stored; or it could not be.
  package mutating func refused(_ target: TargetID) -> [LimboAction] {
    if let path = resolutions.removeValue(forKey: target)?.path { active[path] = nil }
    return begin()
  }

  private mutating func leave(_ path: DocumentPath, _ view: TargetID) -> [LimboAction] {
    guard views[path]?.remove(view) != nil, views[path]?.isEmpty == true else { return [] }
    views[path] = nil
    waiting[path] = nil
    guard let target = active.removeValue(forKey: path) else { return [] }
    resolutions[target] = nil
    return [.unlisten(target)]
  }

  /// Listens to waiting documents, as many as there is room for.
  private mutating func begin() -> [LimboAction] {
    var actions: [LimboAction] = []
    var passed = 0
    while active.count < limit, passed < queue.count {
      let (path, number) = queue[passed]
      passed += 1
      guard waiting[path] == number else { continue }
      waiting[path] = nil
      active[path] = nextTarget
      resolutions[nextTarget] = Resolution(path: path)
      actions.append(.listen(request(path, nextTarget)))
      nextTarget += 2
    }
    queue.removeFirst(passed)
    return actions
  }
}
