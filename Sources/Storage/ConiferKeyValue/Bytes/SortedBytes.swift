#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An ordered map from byte strings, compared as unsigned bytes, to values.
///
/// Two levels: a directory of chunks of at most 256 sorted entries, each copied on write. So a copy
/// of the map costs nothing, and the first change after a copy copies the directory and one chunk.
/// Keys that arrive in ascending order are appended and fill their chunks.
///
/// It is public only for the stores of this package: package declarations are not specialised in
/// other modules, so each access to an entry would look its type up at run time.
@_spi(Stores)
public struct SortedBytes<Value> {
  /// A key of the map with its value.
  public struct Entry {
    /// The key.
    public let key: Bytes
    /// The value.
    public var value: Value

    @usableFromInline
    init(key: Bytes, value: Value) {
      self.key = key
      self.value = value
    }

    /// Orders the key and another: negative, zero or positive.
    @inlinable
    func compareKey(_ other: UnsafeRawBufferPointer) -> Int {
      key.withUnsafeBytes { compareBytes($0, other) }
    }
  }

  /// A position in the map, which any change of the map makes invalid.
  public struct Position: Equatable, Sendable {
    @usableFromInline let chunk: Int
    @usableFromInline let index: Int

    @usableFromInline
    init(chunk: Int, index: Int) {
      self.chunk = chunk
      self.index = index
    }
  }

  @usableFromInline static var chunkLimit: Int { 256 }

  /// Never holds an empty chunk.
  @usableFromInline var chunks: [[Entry]] = []
  @usableFromInline var size = 0
  /// How many entries there are.
  @inlinable public var count: Int { size }

  /// An empty map.
  @inlinable public init() {}

  /// Whether there are no entries.
  @inlinable public var isEmpty: Bool { size == 0 }

  /// The value of a key; setting nil removes the key.
  @inlinable public subscript(key: Bytes) -> Value? {
    get {
      let place = lowerBound(key)
      guard place.found else { return nil }
      return chunks[place.chunk][place.index].value
    }
    set {
      if let newValue { set(key, newValue) } else { remove(key) }
    }
  }

  /// Calls a closure with every key and value, ascending.
  @inlinable public func forEach<E: Error>(_ body: (Bytes, Value) throws(E) -> Void) throws(E) {
    for chunk in chunks {
      for entry in chunk { try body(entry.key, entry.value) }
    }
  }
}

extension SortedBytes: Sendable where Value: Sendable {}
extension SortedBytes.Entry: Sendable where Value: Sendable {}

extension SortedBytes {
  /// Where a key is or would be inserted; `chunk` is in range unless the map is empty.
  @usableFromInline
  struct Place {
    @usableFromInline var chunk: Int
    @usableFromInline var index: Int
    @usableFromInline var found: Bool

    @usableFromInline
    init(chunk: Int, index: Int, found: Bool) {
      self.chunk = chunk
      self.index = index
      self.found = found
    }
  }

  /// The place of the first entry at or after a key, inside the last chunk that begins at or before
  /// the key; `index` is that chunk's count when the entry is the next chunk's first.
  @inlinable
  func lowerBound(_ key: Bytes) -> Place {
    guard let last = chunks.last?.last else { return Place(chunk: 0, index: 0, found: false) }
    if compareBytes(last.key, key) < 0 {
      let chunk = chunks.count - 1
      return Place(chunk: chunk, index: chunks[chunk].count, found: false)
    }
    return key.withUnsafeBytes { key in
      // The last chunk whose first key is at or before the key.
      var low = 0
      var high = chunks.count
      while high - low > 1 {
        let middle = (low + high) / 2
        if chunks[middle][0].compareKey(key) <= 0 { low = middle } else { high = middle }
      }
      let chunk = low
      return chunks[chunk].withUnsafeBufferPointer { entries in
        low = 0
        high = entries.count
        while low < high {
          let middle = (low + high) / 2
          let order = entries[middle].compareKey(key)
          if order == 0 { return Place(chunk: chunk, index: middle, found: true) }
          if order < 0 { low = middle + 1 } else { high = middle }
        }
        return Place(chunk: chunk, index: low, found: false)
      }
    }
  }
}

/// Orders byte strings as unsigned bytes: negative, zero or positive.
@inline(__always)
@usableFromInline
package func compareBytes(_ a: Bytes, _ b: Bytes) -> Int {
  a.withUnsafeBytes { left in b.withUnsafeBytes { compareBytes(left, $0) } }
}

/// Orders lent bytes as unsigned bytes: negative, zero or positive.
@inline(__always)
@usableFromInline
package func compareBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
  if let left = a.baseAddress, let right = b.baseAddress {
    let order = memcmp(left, right, min(a.count, b.count))
    if order != 0 { return Int(order) }
  }
  return a.count - b.count
}
