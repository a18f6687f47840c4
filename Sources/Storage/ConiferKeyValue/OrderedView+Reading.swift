/// Reads that the record layers share, over a frozen view or a transaction.
extension OrderedView {
  /// The first entry at or after a key, copied.
  package func first(_ space: Space, atOrAfter key: Bytes) throws(StoreError) -> (
    key: Bytes, value: Bytes
  )? {
    try nearest(space, .atOrAfter(key))
  }

  /// The last entry at or before a key, copied.
  package func last(_ space: Space, atOrBefore key: Bytes) throws(StoreError) -> (
    key: Bytes, value: Bytes
  )? {
    try nearest(space, .atOrBefore(key))
  }

  private func nearest(
    _ space: Space, _ origin: Origin
  ) throws(StoreError) -> (key: Bytes, value: Bytes)? {
    var found: (key: Bytes, value: Bytes)?
    try walk(space, origin) { key, value in
      found = (Bytes(key), Bytes(value))
      return .stop
    }
    return found
  }

  /// The last key at or before one, if it begins with a prefix.
  package func lastKey(
    _ space: Space, _ prefix: Bytes, atOrBefore key: Bytes
  ) throws(StoreError) -> Bytes? {
    var found: Bytes?
    try walkKeys(space, .atOrBefore(key)) { key, _ in
      if key.starts(with: prefix) { found = Bytes(key) }
      return .stop
    }
    return found
  }

  /// The keys that begin with a prefix, after one of them, at most `limit`.
  package func keys(
    _ space: Space, prefix: Bytes, after: Bytes? = nil, limit: Int = .max
  ) throws(StoreError) -> [Bytes] {
    var keys: [Bytes] = []
    guard limit > 0 else { return keys }
    try walkKeys(space, .atOrAfter(after.map { $0 + [0] } ?? prefix)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      keys.append(Bytes(key))
      return keys.count < limit ? .next : .stop
    }
    return keys
  }

  /// The entries that begin with a prefix, after a key, at most `limit`, copied.
  package func entries(
    _ space: Space, prefix: Bytes, after: Bytes? = nil, limit: Int = .max
  ) throws(StoreError) -> [(key: Bytes, value: Bytes)] {
    var entries: [(key: Bytes, value: Bytes)] = []
    guard limit > 0 else { return entries }
    try walk(space, .atOrAfter(after.map { $0 + [0] } ?? prefix)) { key, value in
      guard key.starts(with: prefix) else { return .stop }
      entries.append((Bytes(key), Bytes(value)))
      return entries.count < limit ? .next : .stop
    }
    return entries
  }
}
