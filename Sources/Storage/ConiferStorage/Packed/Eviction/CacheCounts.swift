import ConiferKeyValue
import ConiferLeafStore

/// The bytes and queries of the cache, counted with each change, so that the store is rarely asked.
final class CacheCounts {
  private let writer: StoreWriter
  /// By tree, what counts against the budget and how many queries are tracked; nil until needed.
  private var trees: [TreeID: (bytes: Int, queries: Int)]?
  /// The last measured factor between records and physical bytes, and the bytes for which it was
  /// measured.
  private var physical: (factor: PhysicalFactor, at: Int)?

  init(_ writer: StoreWriter) { self.writer = writer }

  /// Told of each change of the store.
  func didChange(_ change: StoreChange) {
    guard trees != nil else { return }
    // What a wiped tree counted is gone with its row.
    if !change.effects.cover.wiped.isEmpty { return trees = nil }
    for (tree, row) in change.usage { trees?[tree] = (row.usage.budgeted, row.queries) }
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() { (trees, physical) = (nil, nil) }

  /// What the cache takes, and how many queries are tracked.
  func totals() throws(StoreError) -> (used: Int, queries: Int) {
    let (bytes, queries) = Self.sum(try counted())
    if let physical, Self.holds(physical.at, bytes) {
      return (physical.factor.physical(bytes), queries)
    }
    let factor = try writer.read { (view) throws(StoreError) in
      try PhysicalFactor(stored: view, writer.store.size())
    }
    physical = (factor, bytes)
    return (factor.physical(bytes), queries)
  }

  /// The same without asking the store; nil when it is not known.
  var known: (used: Int, queries: Int)? {
    guard let trees, let physical else { return nil }
    let (bytes, queries) = Self.sum(trees)
    return Self.holds(physical.at, bytes) ? (physical.factor.physical(bytes), queries) : nil
  }

  private static func sum(
    _ trees: [TreeID: (bytes: Int, queries: Int)]
  ) -> (bytes: Int, queries: Int) {
    var sum = (bytes: 0, queries: 0)
    for tree in trees.values {
      sum.bytes.add(tree.bytes)
      sum.queries.add(tree.queries)
    }
    return sum
  }

  /// Whether a factor that was measured at some bytes also holds for others.
  private static func holds(_ at: Int, _ bytes: Int) -> Bool { abs(bytes - at) < 1 << 16 }

  private func counted() throws(StoreError) -> [TreeID: (bytes: Int, queries: Int)] {
    if let trees { return trees }
    let trees = try writer.read { (view) throws(StoreError) in
      var trees: [TreeID: (bytes: Int, queries: Int)] = [:]
      for tree in try UsageRow.trees(view) {
        let row = try UsageRow.read(view, tree)
        trees[tree] = (row.usage.budgeted, row.queries)
      }
      return trees
    }
    self.trees = trees
    return trees
  }
}
