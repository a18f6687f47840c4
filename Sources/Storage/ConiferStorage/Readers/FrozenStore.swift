import ConiferKeyValue
import ConiferLeafStore

/// A store of one view, for layers and readers that ask a store for views: they all see the same commit.
final class FrozenStore: OrderedStore {
  let traits: StoreTraits
  private let frozen: any OrderedView

  /// - Parameter view: stays the caller's, who closes it.
  init(_ view: any OrderedView, _ traits: StoreTraits) {
    frozen = view
    self.traits = traits
  }

  /// The store with a layer laid over it; without one, the store itself.
  ///
  /// - Throws: `missing` for a store without a record, `wrongKey`, and as the layer.
  func layered(_ layer: (any StoreLayer)?) throws(StoreError) -> any OrderedStore {
    guard let layer else { return self }
    // A layer would begin to write in an empty one.
    for space in Spaces.all + [.layer] {
      guard try frozen.first(space, atOrAfter: []) == nil else {
        return try layer.open(over: self, Scopes.layout)
      }
    }
    throw Self.empty
  }

  /// The error for a store whose first record is not there yet.
  static var empty: StoreError {
    StoreError(.missing, "The store is just being made: read again once the app has opened it.")
  }

  func view() -> any OrderedView { LentView(frozen) }

  @discardableResult
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    throw refusal
  }
  func harden(_ upTo: CommitID) throws(StoreError) { throw refusal }
  func size() throws(StoreError) -> StoreSize { throw refusal }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { throw refusal }
  func suspend() throws(StoreError) { throw refusal }
  func resume() throws(StoreError) { throw refusal }
  func close() {}
  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) { throw refusal }
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { throw refusal }

  private var refusal: StoreError {
    StoreError(.unsupported, "The store was opened for reading: its owner alone can do this.")
  }
}

/// A view that somebody else closes.
private final class LentView: OrderedView {
  private let base: any OrderedView

  init(_ base: any OrderedView) { self.base = base }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    try base.get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    try base.walk(space, origin, visit)
  }

  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    try base.walkKeys(space, origin, visit)
  }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try base.walkLocked(space, origin, visit)
  }

  func close() {}
}
