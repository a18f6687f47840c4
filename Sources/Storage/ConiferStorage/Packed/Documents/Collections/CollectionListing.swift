import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Lists the collections of a tree of documents again from its leaves, in slices, when rows may be
/// missing.
struct CollectionListing: Sendable {
  /// How many collections a slice lists.
  private static let slice = 64

  private let tree: TreeID
  private var from: Bytes = []
  private(set) var isDone = false
  /// Whether something could not be read, so that rows may still be missing at the end.
  private(set) var isIncomplete = false
  /// About how many bytes of runs were read so far.
  private(set) var bytesRead = 0

  init(_ tree: TreeID) { self.tree = tree }

  /// The next collections.
  ///
  /// - Parameter view: the same one for all slices.
  /// - Throws: `damaged`, naming what is to be repaired first.
  mutating func step(_ view: LeafSnapshot) throws(StoreError) -> [CollectionPath] {
    let meter = ReadMeter()
    let reader = DocumentReader(runs: RunReader(view: view, tree: tree), meter: meter)
    let some: [CollectionPath]
    do throws(StoreError) {
      some = try reader.collections(from: from, limit: Self.slice)
    } catch {
      // Documents that cannot be read here cannot be queried either, so their rows are not needed.
      guard [.wrongKey, .unsupported, .newerFormat].contains(error.code) else { throw error }
      some = []
      isIncomplete = true
    }
    bytesRead.add(meter.bytes)
    isDone = some.count < Self.slice
    if let last = some.last { from = DocumentKey.encode(last) + [PathKey.endMark] }
    return some
  }

  /// Writes the rows of collections that still have something.
  func write(_ collections: [CollectionPath], _ tx: LeafTransaction) throws(StoreError) {
    let runs = RunReader(view: tx, tree: tree)
    for collection in collections where try DocumentReader(runs: runs).isThere(collection) {
      try CollectionRows.set(collection, isThere: true, in: tree, tx)
    }
  }
}
