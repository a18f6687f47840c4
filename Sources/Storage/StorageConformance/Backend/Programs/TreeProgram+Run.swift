internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension TreeProgram {
  /// Runs the program in a directory of its own; throws where the backend differs from the model.
  ///
  /// - Parameter interval: after how many steps the whole state is compared; nil for the usual number.
  func run(_ factory: BackendFactory, interval: Int? = nil) async throws {
    let fixture = try BackendFixture(factory)
    do {
      let pair = try await fixture.pair()
      if hasDocuments { try await pair.makeDocuments() }
      // Documents are compared one by one and by queries, which takes longer.
      try await run(on: pair, interval: interval ?? (hasDocuments ? 10 : 4))
      await fixture.finish()
    } catch {
      await fixture.finish()
      throw error
    }
  }

  /// Runs the program on a backend and a model that hold nothing yet.
  func run(on pair: ModelPair, interval: Int) async throws {
    var random = SeededRandom(seed: 99)
    for (line, step) in steps.enumerated() {
      do {
        try await step.run(on: pair)
        try pair.probe(&random)
        if line % interval == interval - 1 || line == steps.count - 1 { try pair.requireSame() }
      } catch {
        throw ConformanceFailure("step \(line): \(error)")
      }
    }
    try pair.isSound()
  }

  /// A shorter program that still fails, found by removing parts.
  func shrunk(_ factory: BackendFactory, attempts: Int = 300) async -> (TreeProgram, String) {
    var best = self
    var reason = ""
    var left = attempts
    func fails(_ smaller: TreeProgram) async -> Bool {
      guard left > 0 else { return false }
      left -= 1
      do {
        try await smaller.run(factory, interval: 1)
        return false
      } catch {
        (best, reason) = (smaller, "\(error)")
        return true
      }
    }
    guard await fails(self) else { return (self, "it does not fail again") }
    var size = max(1, steps.count / 2)
    while left > 0 {
      var isShorter = false
      var start = 0
      while start < best.steps.count {
        var smaller = best
        smaller.steps.removeSubrange(start..<min(start + size, smaller.steps.count))
        if await fails(smaller) { isShorter = true } else { start += size }
      }
      if size > 1 { size /= 2 } else if !isShorter { break }
    }
    for line in best.steps.indices {
      for index in best.steps[line].changes.indices.reversed() {
        var smaller = best
        smaller.steps[line].changes.remove(at: index)
        if smaller.steps[line].changes.isEmpty { continue }
        _ = await fails(smaller)
      }
      for index in best.steps[line].changes.indices {
        while left > 0 {
          var isSmaller = false
          for change in best.steps[line].changes[index].simpler {
            var smaller = best
            smaller.steps[line].changes[index] = change
            if await fails(smaller) {
              isSmaller = true
              break
            }
          }
          if !isSmaller { break }
        }
      }
    }
    return (best, reason)
  }
}

extension TreeProgram.Step {
  /// The changes of a commit; none for other steps.
  var changes: [TreeProgram.Change] {
    get {
      switch self {
      case .commit(let changes), .refused(let changes), .beside(let changes, _): changes
      default: []
      }
    }
    set {
      switch self {
      case .commit: self = .commit(newValue)
      case .refused: self = .refused(newValue)
      case .beside(_, let refused): self = .beside(newValue, refused: refused)
      default: break
      }
    }
  }

  fileprivate func run(on pair: ModelPair) async throws {
    switch self {
    case .reopen: try await pair.reopen()
    case .tidy: _ = try await pair.backend.tidy(.milliseconds(20))
    case .wipe(let index): try await pair.wipe(index)
    case .evict(let percent):
      try await pair.evict(to: pair.backend.evicting().space().cache / 100 * percent)
    case .listen(let tree, let pick, let isActive):
      let tree = tree == TreeProgram.documents ? pair.documents ?? .none : pair.trees[tree]
      let ids = try pair.model.tree(tree).queries.keys.sorted()
      if !ids.isEmpty { pair.setActive(isActive, ids[pick % ids.count], in: tree) }
    case .explain(let tree, let path): try pair.explain(pair.trees[tree], path)
    case .suspend:
      try await pair.backend.suspend()
      try await pair.backend.resume()
    case .ask(let seed): try await pair.ask(seed)
    case .commit(let changes):
      // The indexes that are dropped now were changed by earlier commits, so they are verified
      // first.
      if changes.contains(where: \.declaresIndexes) { try pair.isSound() }
      try await pair.commit(try pair.edits(changes))
    case .refused(let changes):
      let edits = try pair.refusedEdits(changes)
      try await expect(.invalid, "a commit with an invalid edit") { () throws(StoreError) in
        try await pair.backend.commit(edits)
      }
    case .beside(let changes, let refused):
      try await pair.commit(
        try pair.edits(changes), beside: try pair.refusedEdits(refused))
    }
  }
}

extension TreeProgram.Change {
  fileprivate var declaresIndexes: Bool {
    if case .documents(let change) = self { change.kind == .index } else { false }
  }

  /// Variants with less data, the smallest first.
  var simpler: [TreeProgram.Change] {
    guard case .overwrite(let tree, let path, let node) = self else { return [] }
    var nodes: [Node] = []
    if node.childCount > 3 {
      let half = node.childCount / 2
      for part in [node.children.prefix(half), node.children.suffix(half)] {
        nodes.append(Node(children: part.map { ($0.key, $0.node) }, priority: node.priority))
      }
    } else {
      nodes = node.children.map(\.node)
      for child in node.children where node.childCount > 1 {
        nodes.append(node.setting(child.key, to: .empty))
      }
    }
    if node.priority != nil { nodes.append(node.settingPriority(nil)) }
    if let leaf = node.leaf, leaf != .integer(1) { nodes.append(1) }
    return nodes.map { .overwrite(tree, path, $0) }
  }
}

extension StorageModel {
  /// The edits for some changes, each for the state after the earlier ones.
  func edits(
    _ changes: [TreeProgram.Change], _ trees: [TreeID]
  ) throws(StoreError) -> [StorageEdit] {
    var copy = self
    var edits: [StorageEdit] = []
    for change in changes {
      let some = try change.edits(copy, trees)
      guard !some.isEmpty else { continue }
      _ = try copy.commit(some)
      edits += some
    }
    return edits
  }
}

extension ModelPair {
  fileprivate func edits(_ changes: [TreeProgram.Change]) throws -> [StorageEdit] {
    try model.edits(changes, trees)
  }

  /// The edits for some changes, with one in the middle that must be refused.
  fileprivate func refusedEdits(_ changes: [TreeProgram.Change]) throws -> [StorageEdit] {
    var edits = try edits(changes)
    edits.insert(.finish(lane, WriteID(rawValue: .max), .acknowledged), at: (edits.count + 1) / 2)
    return edits
  }

  /// Commits to both while commits that must be refused are made at the same time.
  fileprivate func commit(_ edits: [StorageEdit], beside refused: [StorageEdit]) async throws {
    let backend = backend
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await expect(.invalid, "a commit beside another") { () throws(StoreError) in
            try await backend.commit(refused)
          }
        }
      }
      try await commit(edits)
      try await group.waitForAll()
    }
  }

  /// Compares a few snapshots at random places.
  fileprivate func probe(_ random: inout SeededRandom) throws {
    let model = ModelView(model)
    for _ in 0..<3 {
      let (tree, path) = (trees[random.tree()], random.path(3))
      let slice = NodeSlice(
        from: random.chance(40) ? random.key() : nil,
        through: random.chance(40) ? random.key() : nil,
        limit: random.chance(40) ? Int.random(in: 0...4, using: &random) : nil,
        fromEnd: random.chance(50))
      let (keys, found) = try backend.read { (view) throws(StoreError) in
        (
          try view.childKeys(tree, path, after: slice.lower, limit: 5),
          try view.node(tree, path, slice)
        )
      }
      if let bad = found.difference(from: try model.node(tree, path, slice)) {
        throw ConformanceFailure("\(slice) of \(path) is wrong: \(bad)")
      }
      try requireEqual(
        keys, try model.childKeys(tree, path, after: slice.lower, limit: 5),
        "the list of child keys of \(path) after \(slice.lower?.string ?? "nothing")")
    }
  }
}
