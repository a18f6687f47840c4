import ConiferKeyValue
import ConiferLeafStore

/// The rows of one node in an index: how many, and a sum of their hashes.
private struct RowSum: Equatable {
  var count = 0
  var hash: UInt64 = 0

  mutating func add(_ key: Bytes, _ segment: Bytes?) {
    count += 1
    hash &+= XXHash64.hash(segment ?? [], seed: XXHash64.hash(key))
  }
}

extension Verifier {
  private typealias Sums = [Bytes: RowSum]

  /// Checks that each index has exactly the rows that its nodes' children must have, and that the
  /// declarations are there twice.
  func checkIndexes() throws(StoreError) {
    var sets: [TreeID: IndexSet] = [:]
    var plans: [TreeID: [UInt32: RowPlan]] = [:]
    var found: [TreeID: [UInt32: Sums]] = [:]
    /// Also those that cannot be read, which are findings of their own.
    var known: Set<Bytes> = []
    var copies: [TreeID: IndexSet] = [:]
    try scan(Spaces.indexes) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      guard let number = IndexSet.number(key) else { throw Damage.error(Spaces.indexes, key) }
      if number == 0 {
        known.insert(key)
        let set = try IndexSet.read(key, value)
        guard key == IndexSet.key(tree) else {
          if key == IndexSet.key(tree, isCopy: true) { copies[tree] = set }
          return
        }
        sets[tree] = set
        plans[tree] = Dictionary(
          uniqueKeysWithValues: set.indexes.map { ($0.number, RowPlan($0, tree)) })
        return
      }
      if sets[tree]?.dropped.contains(number) == true || damaged.contains(tree) { return }
      guard let plan = plans[tree]?[number] else {
        return self.found(.orphan, Spaces.indexes, key, "its index is not declared")
      }
      let segments = try IndexRow.segments(key, value)
      guard let node = plan.node(key, segments) else {
        throw Damage.error(Spaces.indexes, key)
      }
      count { $0.indexEntries += max(1, segments.count) }
      var sum = found[tree]?[number]?[node] ?? RowSum()
      if segments.isEmpty { sum.add(key, nil) }
      for segment in segments { sum.add(key, segment) }
      found[tree, default: [:]][number, default: [:]][node] = sum
    }
    for info in trees.values where !damaged.contains(info.id) {
      compare(sets[info.id], copies[info.id], of: info.id, known)
    }
    for (tree, plans) in plans where trees[tree] != nil {
      for (number, plan) in plans.sorted(by: { $0.key < $1.key }) {
        try compare(tree, plan, found[tree]?[number] ?? [:])
      }
    }
  }

  /// Compares the two records of a tree's declarations, of which the second one serves when the first
  /// one is damaged.
  private func compare(
    _ set: IndexSet?, _ copy: IndexSet?, of tree: TreeID, _ known: Set<Bytes>
  ) {
    let keys = [IndexSet.key(tree), IndexSet.key(tree, isCopy: true)]
    if let set, let copy, !copy.mayReplace(set) {
      found(
        .content, Spaces.indexes, keys[1], "the copy of the declared indexes tells of other ones")
    }
    guard set != nil || copy != nil else { return }
    for key in keys where !known.contains(key) {
      found(.missing, Spaces.indexes, key, "the declared indexes are stored twice, and once here")
    }
  }

  private func compare(
    _ tree: TreeID, _ plan: RowPlan, _ found: Sums
  ) throws(StoreError) {
    guard let info = trees[tree], !damaged.contains(tree) else { return }
    let reader = RunReader(view: snapshot, tree: tree)
    let expected = try reading(Spaces.runs, StoreKey.prefix(tree)) { () throws(StoreError) in
      var expected: Sums = [:]
      _ = try plan.forEach(
        in: reader, from: [], to: plan.stored.position ?? [PathKey.endMark]
      ) { (rows, node) throws(StoreError) in
        for row in rows { expected[node, default: RowSum()].add(row.key, row.segment) }
        return true
      }
      return expected
    }
    guard let expected else { return }
    for node in Set(found.keys).union(expected.keys).sorted(by: bytesPrecede) {
      let (rows, wanted) = (found[node] ?? RowSum(), expected[node] ?? RowSum())
      guard rows != wanted else { continue }
      let words =
        rows.count == wanted.count
        ? "an entry is not what its \(plan.stored.definition.unit) asks for"
        : "the index has \(rows.count) entries, and \(plan.stored.definition.wants(wanted.count))"
      self.found(
        rows.count < wanted.count ? .missing : .orphan, info, at: node,
        "\(words): \(plan.stored.definition)")
    }
  }
}
