package import ConiferKeyValue
package import ConiferStorage
internal import ConiferTree

/// Compares everything that can be read of two stores, except what may differ between backends:
/// bytes, the order of lanes, and how many finished writes are remembered.
package struct StateDifference {
  let found: any StorageView
  let expected: any StorageView
  /// Smaller than most sets, so that most reads take several windows.
  let window = 7

  /// Compares a store with the expected one.
  package init(_ found: any StorageView, _ expected: any StorageView) {
    self.found = found
    self.expected = expected
  }

  /// What belongs to a tree.
  package enum Part: String, Sendable, CaseIterable {
    /// Leaves and priorities, or what the server said of documents; and their number.
    case data
    /// Tracked queries with their keys or matches, pins, and which indexes are declared.
    case queries
    /// The lanes of the outbound queue.
    case queues
    /// The documents that each lane shows, one by one and by queries.
    case overlays
  }

  /// A description of the first difference, or nil. Only the given parts are compared.
  package func first(_ parts: [Part] = Part.allCases) throws(StoreError) -> String? {
    let trees = try expected.trees()
    if let bad = differ("the list of trees", try found.trees(), trees) { return bad }
    for tree in trees {
      for part in parts {
        let bad =
          switch part {
          case .data where tree.order == .documents: try documents(tree.id)
          case .data: try data(tree.id)
          case .queries: try queries(tree)
          case .queues: try queues(tree.id)
          case .overlays: tree.order == .documents ? try overlays(tree.id) : nil
          }
        if let bad { return "Tree \(tree.name): \(bad)" }
      }
    }
    return nil
  }

  private func data(_ tree: TreeID) throws(StoreError) -> String? {
    let root = try expected.node(tree, .root)
    if let bad = try found.node(tree, .root).difference(from: root) { return bad }
    let leaves = try found.usage(tree).leaves
    if let bad = differ("usage.leaves", leaves, root.countOfRecords) { return bad }
    var after: Key?
    var keys: [Key] = []
    repeat {
      let some = try found.childKeys(tree, .root, after: after, limit: 100)
      keys += some
      after = some.last
    } while after != nil
    return differ("the list of the root's child keys", keys, root.children.map(\.key))
  }

  private func queries(_ info: TreeInfo) throws(StoreError) -> String? {
    let tree = info.id
    var after: QueryID?
    repeat {
      let some = try expected.trackedQueries(tree, after: after, limit: window)
      let mine = try found.trackedQueries(tree, after: after, limit: window)
      if let bad = differ("the window of queries after \(after?.rawValue ?? 0)", mine, some) {
        return bad
      }
      for stored in some {
        if let bad = try query(info, stored) { return bad }
      }
      after = some.last?.id
    } while after != nil
    let below = try found.trackedQueries(tree, below: .root).sorted { $0.id < $1.id }
    if let bad = differ(
      "the list of queries below the root", below, try expected.trackedQueries(tree, below: .root))
    {
      return bad
    }
    func sorted(_ pins: [Pin]) -> [Pin] {
      pins.sorted {
        $0.path == $1.path
          ? $0.parameters.utf8.lexicographicallyPrecedes($1.parameters.utf8) : $0.path < $1.path
      }
    }
    let pins = try found.pins(tree)
    if let bad = differ("the pins' order", pins.map(\.path), pins.map(\.path).sorted()) {
      return bad
    }
    if let bad = differ("the set of pins", sorted(pins), sorted(try expected.pins(tree))) {
      return bad
    }
    if info.order == .documents { return try documentIndexes(tree) }
    let indexes = try found.indexes(tree).map(\.definition)
    return differ(
      "the list of indexes", indexes, try expected.indexes(tree).map(\.definition))
  }

  private func query(_ info: TreeInfo, _ stored: StoredQuery) throws(StoreError) -> String? {
    let tree = info.id
    let (id, query) = (stored.id, stored.query)
    let name = "query \(id.rawValue) at \(query.path)"
    if let bad = differ(name, try found.trackedQuery(tree, id), Optional(query)) { return bad }
    let known = try found.trackedQuery(tree, query.path, query.parameters)
    if let bad = differ("\(name), found by its path,", known, stored) { return bad }
    if let bad = try info.order == .documents ? matches(tree, id) : keys(tree, id) {
      return "\(name): \(bad)"
    }
    let at = try found.trackedQueries(tree, at: query.path).sorted { $0.id < $1.id }
    if let bad = differ(
      "the list of queries at \(query.path)", at, try expected.trackedQueries(tree, at: query.path))
    {
      return bad
    }
    let below = try found.trackedQueries(tree, below: query.path).sorted { $0.id < $1.id }
    return differ(
      "the list of queries below \(query.path)", below,
      try expected.trackedQueries(tree, below: query.path))
  }

  private func keys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> String? {
    differ("the list of keys", try found.trackedKeys(tree, id), try expected.trackedKeys(tree, id))
  }

  private func queues(_ tree: TreeID) throws(StoreError) -> String? {
    func bytes(_ lanes: [Lane]) -> [[UInt8]] {
      lanes.map { Array($0.identity.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    }
    let lanes = try expected.lanes(tree)
    if let bad = differ("the set of lanes", bytes(try found.lanes(tree)), bytes(lanes)) {
      return bad
    }
    for lane in lanes {
      if let bad = try queue(lane) { return "lane \"\(lane.identity)\": \(bad)" }
    }
    return nil
  }

  private func queue(_ lane: Lane) throws(StoreError) -> String? {
    var mine = try found.totals(lane)
    var theirs = try expected.totals(lane)
    let isEmpty = theirs.pending + theirs.rejected == 0
    if (mine.bytes == 0) != isEmpty {
      return "totals.bytes is \(mine.bytes) with \(theirs.pending + theirs.rejected) writes"
    }
    mine.bytes = 0
    theirs.bytes = 0
    if let bad = differ("totals", mine, theirs) { return bad }
    for rejected in [false, true] {
      var after: WriteID?
      repeat {
        let (mine, theirs) =
          rejected
          ? (
            try found.rejectedEntries(lane, after: after, limit: window),
            try expected.rejectedEntries(lane, after: after, limit: window)
          )
          : (
            try found.entries(lane, after: after, limit: window),
            try expected.entries(lane, after: after, limit: window)
          )
        let name = rejected ? "rejected writes" : "writes"
        if let bad = differ(
          "the window of \(name) after \(after?.rawValue ?? 0)", mine.map(\.id), theirs.map(\.id))
        {
          return bad
        }
        for (a, b) in zip(mine, theirs) {
          if let bad = a.difference(from: b) { return bad }
          if let bad = differ("write \(b.id.rawValue)", try found.entry(lane, b.id), a) {
            return bad
          }
          for path in Set(b.payload.touches) {
            let touching = try found.pendingWrites(lane, touching: path)
            if let bad = differ(
              "the list of writes that touch \(path)", touching,
              try expected.pendingWrites(lane, touching: path))
            {
              return bad
            }
          }
        }
        after = theirs.last?.id
      } while after != nil
    }
    return try finished(lane, theirs.newest)
  }

  /// Requires that remembered outcomes are right. How many are remembered is the backend's choice.
  private func finished(_ lane: Lane, _ newest: WriteID?) throws(StoreError) -> String? {
    guard let newest = newest?.rawValue, newest > 0 else { return nil }
    for number in max(1, newest > 20 ? newest - 20 : 1)...newest {
      let id = WriteID(rawValue: number)
      guard let mine = try found.finishedWrite(lane, id) else { continue }
      let theirs = try expected.finishedWrite(lane, id)
      if mine != theirs {
        return "the end of write \(number) is \(mine), not "
          + (theirs.map { "\($0)" } ?? "none, as it is not finished")
      }
    }
    return nil
  }

  func differ<V: Equatable>(_ what: String, _ found: V, _ expected: V) -> String? {
    found == expected
      ? nil
      : "\(what) is \(String(describing: found).prefix(2000)), not "
        + String(describing: expected).prefix(2000)
  }
}

extension QueueEntry {
  /// How a write differs from the expected one, or nil.
  func difference(from other: QueueEntry) -> String? {
    let name = "write \(other.id.rawValue)"
    // Descriptions of data are long, so they come last.
    if id != other.id { return "\(name) is write \(id.rawValue)" }
    if state != other.state { return "\(name) is \(state), not \(other.state)" }
    if attempts != other.attempts {
      return "\(name) has \(attempts) attempts, not \(other.attempts)"
    }
    if self == other { return nil }
    guard let mine = WriteContent(payload), let theirs = WriteContent(other.payload) else {
      return "\(name) is \(payload), not \(other.payload)"
    }
    return "\(name) is \(mine), not \(theirs)"
  }
}
