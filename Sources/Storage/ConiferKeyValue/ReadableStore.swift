/// An ordered store as it is seen from beside its owner: it is read, and nobody but the owner changes it.
///
/// - It takes no owner's lock, repairs nothing, and waits for nobody longer than its engine does.
/// - The owner may commit, tidy, evict, close or be killed meanwhile. A killed reader costs the owner
///   nothing but what its engine clears by itself.
/// - Any thread may call everything.
public protocol ReadableStore: AnyObject, Sendable {
  /// The facts about this store, as its owner's.
  var traits: StoreTraits { get }

  /// Whether the files that it reads are still those of the store: false once the owner has put others in
  /// their place, when the store is to be opened for reading again.
  var isCurrent: Bool { get }

  /// A frozen view of the newest commit that is there when this is called, or of a later one.
  ///
  /// It may show commits that the owner has not acknowledged yet, never a part of one.
  ///
  /// - Throws: `missing`, `damaged`, `newerFormat`, `foreign`, `busy` (the owner's engine holds something for
  ///   seconds), `full` (no reader slot left), `denied`, `io`, `closed`.
  func view() throws(StoreError) -> any OrderedView

  /// Releases the files once no view is being read; a second call does nothing.
  func close()
}
