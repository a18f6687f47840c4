import ConiferKeyValue
import ConiferTree

/// Which trees hold nothing that is uncovered, as far as sweeps and commits tell.
///
/// A tree is clean when a sweep went through all of it and nothing was uncovered in the meantime; a
/// sweep that was given up leaves no mark.
struct SweptTrees: Sendable {
  private(set) var clean: Set<TreeID> = []
  /// By tree, the number of the newest sweep, if its end would make the tree clean.
  private var sweeping: [TreeID: Int] = [:]
  private var last = 0

  /// The trees of which it matters whether something is uncovered in them.
  var watched: Set<TreeID> { clean.union(sweeping.keys) }

  /// Notes that a sweep of a whole tree begins, and gives its number.
  mutating func begin(_ tree: TreeID) -> Int {
    last += 1
    sweeping[tree] = last
    return last
  }

  /// Notes that a sweep went through all that `begin` or `forget` said.
  mutating func end(_ tree: TreeID, _ number: Int) {
    guard sweeping[tree] == number else { return }
    sweeping[tree] = nil
    clean.insert(tree)
  }

  /// Notes that a query is forgotten; gives the number of the sweep of what it covered, if the tree
  /// is clean but for that.
  mutating func forget(_ tree: TreeID) -> Int? {
    let wasClean = clean.contains(tree)
    uncover([tree])
    return wasClean ? begin(tree) : nil
  }

  /// Notes that something may be uncovered in trees, wherever sweeps of them are.
  mutating func uncover(_ trees: Set<TreeID>) {
    clean.subtract(trees)
    for tree in trees { sweeping[tree] = nil }
  }
}
