internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong in views.
enum ViewFault: Sendable {
  /// A view shows the newest commit.
  case seesLaterCommits
  /// A walk that is begun goes on over the newest commit.
  case walksSeeLaterCommits
  /// After every so many batches of several spaces a view shows what was done to the first one alone,
  /// until the next commit.
  case seesFirstSpace(every: Int)
  /// After so many commits reads of single keys show the state of then.
  case getsStale(after: Int)
  /// An absent key has the value of a key that begins with it.
  case getsByPrefix
  /// An empty value is absent when its key is read, and not when it is walked over.
  case hidesEmptyValues
  /// A walk passes over its third key.
  case skipsKey
  /// A walk visits its third key twice.
  case doublesKey
  /// A walk down visits its first two keys in the wrong order.
  case disordersDescents
  /// A walk begins behind the key of its origin.
  case startsAfter
  /// A walk down begins at the key after its origin.
  case startsBehind
  /// A walk up goes on in the next space.
  case entersNextSpace
  /// A jump back goes back.
  case turnsOnJumps
  /// A jump goes to what comes after its target.
  case passesTargets
  /// Walks up are in the order of signed bytes.
  case ordersSigned
  /// A walk that is told to stop visits one more key.
  case goesOnAfterStop
  /// A walk over keys tells sizes that are one byte too large.
  case tellsWrongSizes
  /// A walk over keys passes over its third key.
  case missesKeys
  /// A closed view can be read.
  case answersAfterClose
  /// A view of a closed store shows nothing, and throws nothing.
  case answersAfterStoreCloses
  /// A view ends after so many commits.
  case ends(after: Int)
}

extension MutatedStore {
  /// Keeps what views will show instead of what a batch does.
  func note(_ batch: Batch, _ number: Int, _ fault: ViewFault) throws(StoreError) {
    switch fault {
    case .seesFirstSpace(let every):
      state.withLock { $0.lagging = nil }
      let spaces = batch.edits.map(\.space.id)
      let others = Set(spaces.filter { $0 != spaces.first })
      guard !others.isEmpty, isTurn(every) else { return }
      let view = try base.view()
      state.withLock { $0.lagging = (others, view) }
    case .getsStale(let count) where number == count + 1:
      let view = try base.view()
      state.withLock { $0.stale = view }
    default: break
    }
  }
}
