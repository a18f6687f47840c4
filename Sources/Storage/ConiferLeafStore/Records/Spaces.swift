package import ConiferKeyValue

/// The spaces of a packed store; the numbers are part of the format.
///
/// Every key begins with its tree's number in four bytes, big-endian; tree 0 is the store itself.
///
/// The spaces of queries, queues and pins are listed too, though nothing in this module reads them.
/// A tree's usage is one row for all its spaces, and all of them must be known to distinguish a new
/// tree from one whose row is lost.
package enum Spaces {
  /// Tree 0: the format record and the registry of trees.
  package static let system = Space(id: 1, shape: .rows)
  /// Runs of leaves, by separator.
  package static let runs = Space(id: 2, shape: .blobs)
  /// Small changes of a run, by the run's number and a sequence.
  package static let deltas = Space(id: 3, shape: .rows)
  /// Chunks of large leaves, by the leaf's number and the chunk's.
  package static let chunks = Space(id: 4, shape: .blobs)
  /// Tracked queries by number.
  package static let queries = Space(id: 5, shape: .rows)
  /// Numbers of tracked queries by path.
  package static let queryIndex = Space(id: 6, shape: .rows)
  /// Keys that filtered queries hold.
  package static let queryKeys = Space(id: 7, shape: .rows)
  /// Pins by path.
  package static let pins = Space(id: 8, shape: .rows)
  /// Queued writes by lane and number, and each lane's totals.
  package static let queue = Space(id: 9, shape: .fifo)
  /// Parts of large queued writes.
  package static let queueParts = Space(id: 10, shape: .blobs)
  /// Numbers of queued writes by path.
  package static let queueIndex = Space(id: 11, shape: .rows)
  /// How finished writes ended.
  package static let finished = Space(id: 12, shape: .rows)
  /// Named bytes.
  package static let metadata = Space(id: 13, shape: .blobs)
  /// What each tree's records take; not counted itself.
  package static let usage = Space(id: 14, shape: .rows)
  /// Damaged records that were set aside, and reports of dropped ones.
  package static let incidents = Space(id: 15, shape: .blobs)
  /// Indexes over cached data.
  package static let indexes = Space(id: 16, shape: .rows)
  /// Dictionaries that zstd compresses a tree's data with, by number.
  package static let dictionaries = Space(id: 17, shape: .blobs)
  /// Overlays by path, as stores from before the first release have them.
  package static let earlierOverlays = Space(id: 18, shape: .rows)
  /// Collections of documents by id.
  package static let collections = Space(id: 19, shape: .rows)
  /// The times at which the matches of document queries were complete, and documents that were read
  /// later.
  package static let changes = Space(id: 20, shape: .rows)
  /// The effect of a lane's waiting writes on documents, by the ids of their collections.
  package static let overlays = Space(id: 21, shape: .rows)

  package static let all = [
    system, runs, deltas, chunks, queries, queryIndex, queryKeys, pins, queue, queueParts,
    queueIndex, finished, metadata, usage, incidents, indexes, dictionaries, earlierOverlays,
    collections, changes, overlays,
  ]

  /// The spaces from which nodes and the list of trees are read.
  package static let data = [system, runs, deltas, chunks, dictionaries]
}

/// Beginnings and ends of keys.
package enum StoreKey {
  /// The bytes that begin every key of a tree.
  package static func prefix(_ tree: TreeID) -> Bytes {
    let n = tree.rawValue
    return [
      UInt8(truncatingIfNeeded: n >> 24), UInt8(truncatingIfNeeded: n >> 16),
      UInt8(truncatingIfNeeded: n >> 8), UInt8(truncatingIfNeeded: n),
    ]
  }

  /// The tree of a key.
  package static func tree(_ key: Bytes) -> TreeID {
    TreeID(rawValue: key.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }

  /// The smallest byte string above all that begin with a prefix, or nil when there is none.
  package static func end(of prefix: Bytes) -> Bytes? {
    var end = prefix
    while let last = end.popLast() {
      if last < 0xFF { return end + [last + 1] }
    }
    return nil
  }

  /// The number in the last eight bytes of a key, or of a payload that is one.
  package static func number(atEndOf bytes: Bytes) -> UInt64 {
    bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The number after the tree in a key: of the run that a delta changes, of a chunk's leaf, or of
  /// a row's query.
  package static func numberAfterTree(_ key: Bytes) -> UInt64 {
    number(atEndOf: Bytes(key.prefix(12)))
  }

  /// A number in eight bytes, big-endian.
  package static func number(_ value: UInt64) -> Bytes {
    var writer = ByteWriter()
    writer.bigEndian(value)
    return writer.bytes
  }
}
