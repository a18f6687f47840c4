package import ConiferKeyValue
package import Synchronization

/// The leaves of an ordered store: how they are packed, and what is kept of them in memory.
///
/// Snapshots read them, and transactions change them. Only one thread changes a store at a time.
package final class LeafStore: Sendable {
  package let store: any OrderedStore
  package let codec: Codec
  /// How long the store's keys may be, without the space byte.
  package let longestKey: Int
  package let generations: Generations
  package let dictionaries = DictionaryCache()
  /// How runs are cut and packed, with what was learnt from those that were written.
  package let shape: Mutex<RunShape>

  /// Finds what keeps something in step with the leaves of a tree.
  let findFollower: FindFollower

  /// Finds what keeps something in step with the leaves of a tree, within a commit; nil when nothing does.
  package typealias FindFollower =
    @Sendable (LeafTransaction, TreeID) throws(StoreError) ->
    (any LeafFollower)?

  /// - Parameters:
  ///   - level: of zstd, at which housekeeping packs new bodies; nil packs nothing.
  ///   - cache: about how many bytes of decoded runs are kept; 0 keeps none.
  ///   - findFollower: finds what keeps something in step with a tree's leaves, such as indexes.
  package init(
    _ store: any OrderedStore, level: Int?, cache: Int = 0,
    findFollower: @escaping FindFollower = { _, _ in nil }
  ) {
    self.store = store
    self.findFollower = findFollower
    codec = Codec(level: level)
    longestKey = store.traits.longestKey
    generations = Generations(cache: cache)
    shape = Mutex(RunShape(store.traits, packs: level != nil))
  }

  /// Separators from this length on are cut, and told apart by an ordinal of eight bytes.
  package var cutLength: Int { longestKey == .max ? .max : longestKey - 4 - 8 }

  /// The newest generation; the store is asked for it when it is first needed.
  package func snapshot() -> LeafSnapshot { LeafSnapshot(self) }

  /// The newest generation, opened at once.
  ///
  /// - Throws: as `OrderedStore.view`.
  package func openSnapshot() throws(StoreError) -> LeafSnapshot {
    let snapshot = LeafSnapshot(self)
    try snapshot.open()
    return snapshot
  }

  /// A commit in the making on the newest generation.
  ///
  /// - Throws: as `OrderedStore.view`.
  package func transaction() throws(StoreError) -> LeafTransaction {
    LeafTransaction(try openSnapshot())
  }

  /// Stores what a transaction changed, and publishes the next generation.
  ///
  /// - Throws: as `OrderedStore.apply`.
  package func apply(
    _ tx: LeafTransaction, _ batch: Batch, _ durability: Durability
  ) throws(StoreError) -> CommitID {
    var learnt = tx.shape
    learnt.effort = .quick
    shape.withLock { $0 = learnt }
    generations.begin()
    do throws(StoreError) {
      let commit = try store.apply(batch, durability)
      generations.publish(tx.state)
      return commit
    } catch {
      generations.publishUnknown()
      throw error
    }
  }

  /// Changes the store beside transactions; whatever is in memory is asked of the store again.
  ///
  /// - Throws: what the closure throws.
  package func change<R>(
    _ body: (any OrderedStore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    generations.begin()
    defer { generations.publishUnknown() }
    return try body(store)
  }
}

/// A state of the leaves that is read: a snapshot, or a commit in the making.
package protocol LeafView: OrderedView {
  var leaves: LeafStore { get }
  /// The snapshot, when this is one: it may be answered from memory.
  var snapshot: LeafSnapshot? { get }
}
