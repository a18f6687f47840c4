import ConiferKeyValue

/// Objects made of records, at most one a tree and space.
struct ObjectCache {
  private struct Entry {
    let tree: TreeID
    /// Of the record.
    let key: Bytes
    let object: any AnyObject & Sendable
    /// The generation at which it was made.
    let seen: UInt64
  }

  /// The maximum number of trees; an app uses a few.
  private static let capacity = 64

  private var entries: [Space: [Entry]] = [:]

  func has(_ space: Space) -> Bool { entries[space]?.isEmpty == false }

  func find(
    _ space: Space, _ tree: TreeID, at generation: UInt64
  ) -> (any AnyObject & Sendable)? {
    entries[space]?.first { $0.tree == tree && $0.seen <= generation }?.object
  }

  mutating func add(
    _ object: any AnyObject & Sendable, _ space: Space, _ tree: TreeID, _ key: Bytes,
    at generation: UInt64
  ) {
    entries[space]?.removeAll { $0.tree == tree }
    if entries[space]?.count ?? 0 >= Self.capacity { entries[space]?.removeFirst() }
    entries[space, default: []].append(
      Entry(tree: tree, key: key, object: object, seen: generation))
  }

  mutating func remove(_ space: Space, _ key: Bytes) {
    entries[space]?.removeAll { $0.key == key }
  }

  mutating func remove(_ space: Space, from low: Bytes, to high: Bytes) {
    entries[space]?.removeAll { !bytesPrecede($0.key, low) && bytesPrecede($0.key, high) }
  }
}
