import ConiferKeyValue
import Synchronization

/// The indexes of trees, kept with the record that they were read from; safe on any thread.
///
/// They hold where the store still has that very record.
final class IndexCache: Sendable {
  private struct Entry {
    let value: Bytes
    let plans: [IndexPlan]
  }

  /// As many as there are trees in use; an app has a handful.
  private static let capacity = 64

  private let entries = Mutex<[TreeID: Entry]>([:])

  /// The declared indexes of a tree, ready to be used.
  ///
  /// - Throws: as `IndexSet.read`.
  func plans(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> [IndexPlan] {
    let entry = entries.withLock { $0[tree] }
    let key = IndexSet.key(tree)
    var isSame = false
    let value: Bytes?? = try view.get(Spaces.indexes, key) { value in
      isSame = entry.map { value.equals($0.value) } ?? false
      return isSame ? nil : Bytes(value)
    }
    if isSame, let entry { return entry.plans }
    guard case .some(.some(let value)) = value else { return [] }
    let plans = try IndexSet.read(key, value).indexes.map { IndexPlan($0, tree) }
    entries.withLock { entries in
      if entries.count >= Self.capacity { entries = [:] }
      entries[tree] = Entry(value: value, plans: plans)
    }
    return plans
  }
}
