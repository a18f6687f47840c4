import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Documents that perhaps nothing needs any more, for a cache that keeps documents only while something needs them.
final class UnneededDocuments {
  private var candidates: Set<DocumentPath> = []
  /// Documents of bundles, which stay.
  private var bundleDocuments: Set<DocumentPath> = []
  private let store: DocumentStore

  init(_ store: DocumentStore) { self.store = store }

  /// Something that needed documents may do so no longer.
  func add(_ paths: some Sequence<DocumentPath>) {
    if store.collectsEagerly { candidates.formUnion(paths) }
  }

  /// Keeps documents that a bundle brought.
  func keep(_ paths: some Sequence<DocumentPath>) {
    if store.collectsEagerly { bundleDocuments.formUnion(paths) }
  }

  /// Forgets those that nothing needs.
  ///
  /// - Parameter isNeeded: whether a listener needs a document; waiting writes are looked up here.
  func collect(_ isNeeded: (DocumentPath) -> Bool) {
    guard !candidates.isEmpty, store.lane != nil else { return }
    let paths = candidates.sorted().filter { !bundleDocuments.contains($0) && !isNeeded($0) }
    candidates = []
    do throws(StoreError) {
      // Only caches in memory get here. They hold few documents and fewer users, and each check is
      // one look-up.
      let unneeded = try store.read { (view, lane) throws(StoreError) in
        var unneeded: [DocumentPath] = []
        let lanes = try view.lanes(lane.tree)
        for path in paths where try view.document(lane.tree, path).state != .unseen {
          var isWritten = false
          for lane in lanes
          where try !view.pendingWrites(lane, touching: DocumentKey.treePath(path)).isEmpty {
            isWritten = true
          }
          if !isWritten { unneeded.append(path) }
        }
        return unneeded
      }
      guard !unneeded.isEmpty else { return }
      try store.commit([.documents(store.tree, unneeded.map { .forget($0) })])
    } catch {
      // They are candidates again once something has needed them and no longer does.
      store.log("documents that nothing needs are kept", error)
    }
  }
}
