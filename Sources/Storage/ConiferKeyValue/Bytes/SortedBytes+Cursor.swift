extension SortedBytes {
  /// The place of the smallest key at or after a key, or nil.
  @inlinable
  public func firstAtOrAfter(_ key: Bytes) -> Position? {
    let place = lowerBound(key)
    return normalized(place.chunk, place.index)
  }

  /// The place of the largest key at or before a key, or nil.
  @inlinable
  public func lastAtOrBefore(_ key: Bytes) -> Position? {
    let place = lowerBound(key)
    if place.found { return Position(chunk: place.chunk, index: place.index) }
    return before(Position(chunk: place.chunk, index: place.index))
  }

  /// The place of the smallest key, or nil when the map is empty.
  @inlinable public var first: Position? { normalized(0, 0) }

  /// The place of the largest key, or nil when the map is empty.
  @inlinable public var last: Position? { before(Position(chunk: chunks.count, index: 0)) }

  /// The place of the next larger key, or nil.
  @inlinable
  public func after(_ position: Position) -> Position? {
    normalized(position.chunk, position.index + 1)
  }

  /// The place of the next smaller key, or nil.
  @inlinable
  public func before(_ position: Position) -> Position? {
    if position.index > 0 { return Position(chunk: position.chunk, index: position.index - 1) }
    guard position.chunk > 0 else { return nil }
    let chunk = position.chunk - 1
    return Position(chunk: chunk, index: chunks[chunk].count - 1)
  }

  /// The key and the value at a place that this map gave out since its last change.
  @inlinable @inline(__always)
  public func entry(at position: Position) -> (key: Bytes, value: Value) {
    let entry = chunks[position.chunk][position.index]
    return (entry.key, entry.value)
  }

  @inlinable
  func normalized(_ chunk: Int, _ index: Int) -> Position? {
    guard chunk < chunks.count else { return nil }
    if index < chunks[chunk].count { return Position(chunk: chunk, index: index) }
    return chunk + 1 < chunks.count ? Position(chunk: chunk + 1, index: 0) : nil
  }
}
