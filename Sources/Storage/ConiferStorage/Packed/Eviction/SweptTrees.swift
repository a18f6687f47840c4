import ConiferKeyValue
import ConiferTree

/// The trees that are known to hold no uncovered data.
///
/// A tree is clean when a sweep went through all of it and no data became uncovered meanwhile. A sweep that
/// was abandoned changes nothing.
struct SweptTrees: Sendable {
  private(set) var clean: Set<TreeID> = []
  /// By tree, the number of the newest sweep, unless data became uncovered since it began.
  private var sweeping: [TreeID: Int] = [:]
  private var last = 0

  /// The trees of which commits report whether data became uncovered.
  var watched: Set<TreeID> { clean.union(sweeping.keys) }

  /// Begins a sweep of a whole tree; returns its number.
  mutating func begin(_ tree: TreeID) -> Int {
    last += 1
    sweeping[tree] = last
    return last
  }

  /// Ends a sweep: the tree is clean, unless data became uncovered meanwhile.
  mutating func end(_ tree: TreeID, _ number: Int) {
    guard sweeping[tree] == number else { return }
    sweeping[tree] = nil
    clean.insert(tree)
  }

  /// Records that a query was removed. If the tree was clean, it returns the number of a sweep over
  /// what the query covered; when that sweep ends, the tree is clean again.
  mutating func forget(_ tree: TreeID) -> Int? {
    let wasClean = clean.contains(tree)
    uncover([tree])
    return wasClean ? begin(tree) : nil
  }

  /// Records that data of trees may have become uncovered.
  mutating func uncover(_ trees: Set<TreeID>) {
    clean.subtract(trees)
    for tree in trees { sweeping[tree] = nil }
  }
}
