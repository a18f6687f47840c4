import ConiferKeyValue
import Synchronization

/// The leaves of an ordered store: how they are packed, and what is kept of them in memory.
///
/// Snapshots read them, and transactions change them. Only one thread changes a store at a time.
final class LeafStore: Sendable {
  let store: any OrderedStore
  let codec: Codec
  /// How long the store's keys may be, without the space byte.
  let longestKey: Int
  let generations: Generations
  let dictionaries = DictionaryCache()
  private let shape: Mutex<RunShape>

  /// - Parameters:
  ///   - compression: how new bodies are packed.
  ///   - cache: about how many bytes of decoded runs are kept; 0 keeps none.
  init(_ store: any OrderedStore, _ compression: Compression, cache: Int = 0) {
    self.store = store
    codec = Codec(compression)
    longestKey = store.traits.longestKey
    generations = Generations(cache: cache)
    shape = Mutex(RunShape(store.traits, compression))
  }

  /// Separators from this length on are cut, and told apart by an ordinal of eight bytes.
  var cutLength: Int { longestKey == .max ? .max : longestKey - 4 - 8 }

  /// The newest generation; the store is asked for it when it is first needed.
  func snapshot() -> LeafSnapshot { LeafSnapshot(self) }

  /// The newest generation, opened at once.
  ///
  /// - Throws: as `OrderedStore.view`.
  func openSnapshot() throws(StoreError) -> LeafSnapshot {
    let snapshot = LeafSnapshot(self)
    try snapshot.open()
    return snapshot
  }

  /// A commit in the making on the newest generation.
  ///
  /// - Throws: as `OrderedStore.view`.
  func transaction() throws(StoreError) -> LeafTransaction {
    transaction(on: try openSnapshot())
  }

  /// A commit in the making on an open snapshot; of an older one it must not be stored.
  func transaction(on snapshot: LeafSnapshot) -> LeafTransaction {
    LeafTransaction(snapshot, shape.withLock { $0 })
  }

  /// Stores what a transaction changed, and publishes the next generation.
  ///
  /// - Throws: as `OrderedStore.apply`.
  func apply(
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
  func change<R>(
    _ body: (any OrderedStore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    generations.begin()
    defer { generations.publishUnknown() }
    return try body(store)
  }
}

/// A state of the leaves that is read: a snapshot, or a commit in the making.
protocol LeafView: OrderedView {
  var leaves: LeafStore { get }
  /// The snapshot, when this is one: it may be answered from memory.
  var snapshot: LeafSnapshot? { get }
}
