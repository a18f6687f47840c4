import ConiferDocument
import ConiferKeyValue
package import ConiferTree

/// How far a copy has come, so that it can go on after its process died.
package struct CopyPosition: Equatable {
  /// The parts of a copy, in their order: what cannot be fetched again comes first.
  package enum Phase: String, CaseIterable {
    case queues
    case data
    case queries
    case incidents
    case done
  }

  package var phase: Phase
  /// The tree whose data is being copied, by name.
  package var tree: String?
  /// The last path of it that is complete.
  package var path: Path?

  /// A place; the beginning, unless another is named.
  package init(phase: Phase = .queues, tree: String? = nil, path: Path? = nil) {
    (self.phase, self.tree, self.path) = (phase, tree, path)
  }
}

/// Copies all that a backend holds into another one: queues with their numbers, states and ends, the
/// number above which new lanes begin, trees, tracked queries with their numbers and keys, pins,
/// metadata, reports of damage, and the declarations of indexes (none into an encrypted target).
///
/// Copying something twice changes nothing: a copy that was cut short may begin again at the last position
/// that it reported, or at any before.
package struct StoreCopier {
  private let source: any StorageBackend
  private let target: any StorageBackend
  private let reached: (CopyPosition) throws -> Void
  /// Called with about how many bytes of the source's cache were copied.
  package var advanced: (Int) -> Void = { _ in }

  private static let batch = 1 << 20

  /// A copy of all that a backend holds.
  ///
  /// - Parameter reached: called each time that something has become durable in the target.
  package init(
    source: any StorageBackend, target: any StorageBackend,
    reached: @escaping (CopyPosition) throws -> Void
  ) {
    (self.source, self.target, self.reached) = (source, target, reached)
  }

  /// Copies from a place on.
  package func run(from place: CopyPosition) async throws {
    let trees = try await makeTrees()
    // It may have been raised since an earlier part was copied.
    if let floor = try source.inspect({ try $0.queueFloor() }) {
      try await commit([.raiseQueueFloor(floor)])
    }
    for phase in CopyPosition.Phase.allCases where isLeft(phase, place) {
      switch phase {
      case .queues:
        for (info, copy) in trees {
          try await copyQueues(info, copy)
          try await copyPins(info, copy)
        }
      case .data: try await copyData(trees, place.phase == .data ? place : nil)
      case .queries: for (info, copy) in trees { try await copyQueries(info, copy) }
      case .incidents: try await copyIncidents(trees)
      case .done: break
      }
      try await checkpoint(CopyPosition(phase: Self.after(phase)))
    }
  }

  private func isLeft(_ phase: CopyPosition.Phase, _ place: CopyPosition) -> Bool {
    let all = CopyPosition.Phase.allCases
    return (all.firstIndex(of: phase) ?? 0) >= (all.firstIndex(of: place.phase) ?? 0)
  }

  private static func after(_ phase: CopyPosition.Phase) -> CopyPosition.Phase {
    let all = CopyPosition.Phase.allCases
    return all[min((all.firstIndex(of: phase) ?? 0) + 1, all.count - 1)]
  }

  /// The trees of the source, each with its number in the target.
  private func makeTrees() async throws -> [(TreeInfo, TreeID)] {
    var trees: [(TreeInfo, TreeID)] = []
    for info in try source.inspect({ try $0.trees() }) {
      trees.append((info, try await target.tree(named: info.name, order: info.order)))
    }
    return trees
  }

  /// Makes all that was copied survive power loss, then reports the position.
  private func checkpoint(_ place: CopyPosition) async throws {
    let receipt = try await commit([])
    try await target.harden(receipt.commit)
    try reached(place)
  }

  @discardableResult
  private func commit(_ edits: [StorageEdit]) async throws -> CommitReceipt {
    try await target.commit(edits, min(.process, target.traits.store.strongest))
  }

  // MARK: Queues

  private func copyQueues(_ info: TreeInfo, _ copy: TreeID) async throws {
    for lane in try source.inspect({ try $0.lanes(info.id) }) {
      let own = Lane(tree: copy, identity: lane.identity)
      let totals = try source.inspect { try $0.totals(lane) }
      for rejected in [false, true] { try await copyWrites(lane, own, rejected: rejected) }
      var after: WriteID?
      while true {
        let ends = try source.inspect {
          try $0.finishedWrites(lane, after: after, limit: 256)
        }
        try await commit(ends.map { .restoreFinished(own, $0) })
        guard let last = ends.last?.id else { break }
        after = last
      }
      if let newest = totals.newest { try await commit([.reserveWriteIDs(own, through: newest)]) }
    }
  }

  private func copyWrites(_ lane: Lane, _ own: Lane, rejected: Bool) async throws {
    var after: WriteID?
    var limit = 8
    while true {
      let writes = try source.inspect {
        rejected
          ? try $0.rejectedEntries(lane, after: after, limit: limit)
          : try $0.entries(lane, after: after, limit: limit)
      }
      try await commit(writes.map { .restore(own, $0) })
      guard let last = writes.last?.id else { return }
      after = last
      // A write may have 10 MB or 100 bytes.
      let size = writes.reduce(0) { $0 + $1.payload.bytes.count }
      limit = size < Self.batch / 2 ? min(limit * 2, 512) : max(1, limit / 2)
    }
  }

  private func copyPins(_ info: TreeInfo, _ copy: TreeID) async throws {
    let pins = try source.inspect { try $0.pins(info.id) }
    try await commit(
      pins.map { .pin(Pin(tree: copy, path: $0.path, parameters: $0.parameters)) })
  }

  // MARK: Data

  private func copyData(_ trees: [(TreeInfo, TreeID)], _ place: CopyPosition?) async throws {
    var isBehind = place?.tree != nil
    var copied = 0
    var sinceCheckpoint = 0
    for (info, copy) in trees {
      if isBehind, place?.tree?.utf8.elementsEqual(info.name.utf8) != true { continue }
      let cursor = isBehind ? place?.path : nil
      isBehind = false
      if info.order == .documents {
        try await copyDocuments(info, copy, cursor, &copied)
        continue
      }
      let walk = TreeWalk(backend: source, tree: info, cursor: cursor) { piece in
        try await commit([piece.edit(copy)])
        let size = piece.estimatedSize
        copied += size
        sinceCheckpoint += size
        advanced(copied)
        if sinceCheckpoint > 8 * Self.batch {
          sinceCheckpoint = 0
          try await checkpoint(CopyPosition(phase: .data, tree: info.name, path: piece.end))
        }
      }
      try await walk.run()
    }
  }

  /// Copies the documents of a tree behind a place.
  private func copyDocuments(
    _ info: TreeInfo, _ copy: TreeID, _ place: Path?, _ copied: inout Int
  ) async throws {
    var sinceCheckpoint = 0
    var last = place.flatMap { DocumentKey.document($0) }
    // The collection of the place may have more.
    var rest = last.map { [$0.collection] } ?? []
    while true {
      for collection in rest {
        var limit = 8
        if last?.collection != collection { last = nil }
        while true {
          let after = last
          let documents = try source.inspectDocuments {
            try $0.documents(info.id, in: collection, after: after, limit: limit)
          }
          guard let end = documents.last?.path else { break }
          try await commit([.documents(copy, documents.map { .put($0) })])
          last = end
          let size = documents.reduce(0) { $0 + $1.estimatedSize }
          copied += size
          sinceCheckpoint += size
          advanced(copied)
          limit = size < Self.batch / 2 ? min(limit * 2, 512) : max(1, limit / 2)
          if sinceCheckpoint > 8 * Self.batch {
            sinceCheckpoint = 0
            try await checkpoint(
              CopyPosition(phase: .data, tree: info.name, path: DocumentKey.treePath(end)))
          }
        }
      }
      let behind = rest.last
      rest = try source.inspectDocuments {
        try $0.collections(info.id, after: behind, limit: 64)
      }
      if rest.isEmpty { return }
    }
  }

  // MARK: Queries, metadata, reports

  private func copyQueries(_ info: TreeInfo, _ copy: TreeID) async throws {
    var after: QueryID?
    while true {
      let queries = try source.inspect {
        try $0.trackedQueries(info.id, after: after, limit: 256)
      }
      guard let last = queries.last?.id else { break }
      var edits: [StorageEdit] = []
      for stored in queries {
        var query = stored.query
        query.tree = copy
        edits.append(.restoreQuery(StoredQuery(id: stored.id, query: query)))
        if info.order == .documents {
          let matches = try source.inspectDocuments { try $0.matches(info.id, stored.id) }
          let version = try source.inspectDocuments { try $0.matchesVersion(info.id, stored.id) }
          edits.append(
            .documents(
              copy,
              [.setMatches(stored.id, matches), .setMatchesVersion(stored.id, version)]))
        } else {
          let keys = try source.inspect { try $0.trackedKeys(info.id, stored.id) }
          edits.append(.setTrackedKeys(copy, stored.id, keys))
        }
      }
      try await commit(edits)
      after = last
    }
    if let last = try source.inspect({ try $0.lastQuery(info.id) }) {
      try await commit([.reserveQueryIDs(copy, through: last)])
    }
    if !target.traits.isEncrypted { try await declareIndexes(info, copy) }
    var name: String?
    while true {
      let names = try source.inspect { try $0.metadataNames(info.id, after: name, limit: 64) }
      for name in names {
        let bytes = try source.inspect { try $0.metadata(info.id, name) }
        try await commit([.setMetadata(copy, name, bytes)])
      }
      guard let last = names.last else { break }
      name = last
    }
  }

  /// Declares the indexes of a tree; they are built in the copy, from the data that is there.
  private func declareIndexes(_ info: TreeInfo, _ copy: TreeID) async throws {
    if info.order == .documents {
      let indexes = try source.inspectDocuments { try $0.documentIndexes(info.id) }.map(\.index)
      if !indexes.isEmpty { try await commit([.documents(copy, [.setIndexes(indexes)])]) }
    } else {
      let indexes = try source.inspect { try $0.indexes(info.id) }.map(\.definition)
      if !indexes.isEmpty { try await commit([.setIndexes(copy, indexes)]) }
    }
  }

  /// Copies the reports that the target lacks; it may have some of its own besides.
  private func copyIncidents(_ trees: [(TreeInfo, TreeID)]) async throws {
    let numbers = Dictionary(uniqueKeysWithValues: trees.map { ($0.0.id, $0.1) })
    func renumbered(_ incident: Incident) -> Incident {
      Incident(
        kind: incident.kind, tree: numbers[incident.tree] ?? TreeID(rawValue: 0),
        place: incident.place, bytes: incident.bytes)
    }
    // Their bytes may be too many for the memory. It is counted within, as a read that met damage is done again.
    var known = try target.inspect { view in
      var known: [ReportName: Int] = [:]
      try view.forEachIncident { known[ReportName($0), default: 0] += 1 }
      return known
    }
    var end = IncidentPosition()
    while true {
      let position = end
      let window = try source.inspect {
        try $0.incidents(after: position, limit: 100) { _ in true }
      }
      var new: [StorageEdit] = []
      for report in window.incidents.map(renumbered) {
        let name = ReportName(report)
        if let count = known[name], count > 0 {
          known[name] = count - 1
        } else {
          new.append(.report(report))
        }
      }
      if !new.isEmpty { try await commit(new) }
      guard window.hasMore else { return }
      end = window.end
    }
  }
}

/// What tells a report from others, without its bytes.
private struct ReportName: Hashable {
  let tree: TreeID
  let fingerprint: UInt64

  init(_ incident: Incident) { (tree, fingerprint) = (incident.tree, incident.fingerprint) }
}

extension TreeWalk.Piece {
  /// About how much memory it takes.
  package var estimatedSize: Int {
    switch self {
    case .node(_, let node): node.estimatedSize
    case .children(_, let children): children.reduce(0) { $0 + $1.node.estimatedSize }
    case .priority: 16
    }
  }
}

extension Document {
  /// About how much memory it takes.
  fileprivate var estimatedSize: Int { 64 + (fields?.size ?? 0) }
}
