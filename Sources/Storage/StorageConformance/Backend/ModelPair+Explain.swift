internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension ModelPair {
  /// Explains why data is kept, and requires that the explanation adds up and agrees with the
  /// model.
  @discardableResult
  func explain(_ tree: TreeID, _ path: Path) throws -> SpaceExplanation {
    let found = try backend.evicting().explain(tree, path)
    let model = try model.tree(tree)
    let data = model.root[path]
    try requireEqual(found.tree, tree, "the tree of an explanation")
    try requireEqual(found.path, path, "the path of an explanation")
    try requireEqual(found.leaves, data.countOfRecords, "the leaves at \(path)")
    try require(found.bytes > 0 || found.leaves < 100, "\(found.leaves) leaves take no byte")
    let parts = found.pinned + found.written + found.active + found.tracked + found.uncovered
    try require(
      abs(parts - found.bytes) <= 16 + found.bytes / 50,
      "the parts of \(path) are \(parts) bytes, and the whole is \(found.bytes)")
    let pinned = model.kept(by: [])
    let held = model.kept(by: model.queries.keys.filter { isActive($0, tree) })
    let all = model.kept(by: model.queries.keys)
    let counts = [pinned, held, all, model.root].map { $0[path].countOfRecords }
    for (name, bytes, leaves) in [
      ("pinned", found.pinned, counts[0]), ("active", found.active, counts[1] - counts[0]),
      ("tracked", found.tracked, counts[2] - counts[1]),
      ("uncovered", found.uncovered, counts[3] - counts[2]),
    ] {
      try require(
        leaves > 0 || bytes <= 16, "\(bytes) bytes at \(path) are said to be \(name), of no leaf")
      try require(
        bytes > 0 || leaves < 1000, "no byte at \(path) is said to be \(name), of \(leaves) leaves")
    }
    try reasons(found, model)
    var pending = 0
    let view = ModelView(self.model)
    for lane in try view.lanes(tree) {
      pending += try view.pendingWrites(lane, touching: path).count
    }
    try requireEqual(found.pendingWrites, pending, "the pending writes at \(path)")
    return found
  }

  private func isActive(_ id: QueryID, _ tree: TreeID) -> Bool {
    active.contains(StorageModel.QueryName(tree: tree, query: id))
  }

  /// Whether a pin or a query below a path covers existing data.
  private func isCoveredInPart(_ path: Path, _ model: StorageModel.Tree) -> Bool {
    let places = model.pins.map(\.path) + model.queries.keys.flatMap { model.coverage($0) }
    return places.contains { path.contains($0) && !model.root[$0].isEmpty }
  }

  /// Requires that the reasons are the pins, active queries and tracked queries that cover the
  /// path, and that the fate is that of the one that is kept longest.
  private func reasons(_ found: SpaceExplanation, _ model: StorageModel.Tree) throws {
    let (tree, path) = (found.tree, found.path)
    var pins: Set<Pin> = []
    var active: Set<QueryID> = []
    var tracked: [QueryID: Int] = [:]
    var rank = 0
    for reason in found.reasons {
      let next =
        switch reason {
        case .pinned: 0
        case .written: 1
        case .active: 2
        case .tracked: 3
        }
      try require(next >= rank, "the reasons of \(path) are not the strongest first")
      rank = next
      switch reason {
      case .pinned(let pin): pins.insert(pin)
      case .written: try require(false, "writes are said to keep \(path), a node")
      case .active(let stored): active.insert(stored.id)
      case .tracked(let stored, let before): tracked[stored.id] = before
      }
    }
    let covering = model.queries.keys.filter { id in
      model.coverage(id).contains { $0.contains(path) }
    }
    try requireEqual(
      pins, Set(model.pins.filter { $0.path.contains(path) }), "the pins that keep \(path)")
    try requireEqual(
      active, Set(covering.filter { isActive($0, tree) }), "the active queries that keep \(path)")
    let candidates = try candidates()
    let may = covering.filter { candidates[StorageModel.QueryName(tree: tree, query: $0)] != nil }
    try requireEqual(Set(tracked.keys), Set(may), "the tracked queries that keep \(path)")
    for (id, before) in tracked {
      let name = StorageModel.QueryName(tree: tree, query: id)
      guard used.isEmpty, saved.isEmpty, let use = candidates[name] else {
        try require(before < candidates.count, "\(before) queries go before one of \(path)")
        continue
      }
      let earlier = candidates.values.filter { $0 < use }.count
      let ties = candidates.values.filter { $0 == use }.count
      try require(
        (earlier..<earlier + ties).contains(before),
        "\(before) queries are said to go before one of \(path), and \(earlier) do")
    }
    let fate: SpaceExplanation.Fate =
      if !pins.isEmpty || !active.isEmpty {
        .stays
      } else if let last = tracked.values.max() {
        .afterQueries(last)
      } else if found.leaves == 0 {
        .absent
      } else {
        isCoveredInPart(path, model) ? .parts : .first
      }
    try requireEqual(found.fate, fate, "the fate of \(path)")
  }
}
