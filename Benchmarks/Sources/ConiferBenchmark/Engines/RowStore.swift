package import CPeers

/// A store of rows in the order of their keys' bytes: all that the raw engines have in common.
package protocol RowStore: AnyObject, Sendable {
  /// Applies a batch whole or not at all, at the durability that the store was opened with.
  ///
  /// - Parameter edits: as a `RowBatch` has them.
  func commit(_ edits: UnsafeRawBufferPointer) throws
  /// Lends the value of a key; false when there is none.
  func get(
    _ key: [UInt8], _ visit: peer_visit, _ context: UnsafeMutableRawPointer
  ) throws -> Bool
  /// Lends the rows with keys in a range, ascending or descending.
  func scan(
    _ from: [UInt8], _ to: [UInt8], backwards: Bool, _ visit: peer_visit,
    _ context: UnsafeMutableRawPointer
  ) throws
  /// Gives space back to the system, as the engine does it.
  func compact() throws
  /// Bytes that live data takes, when the engine knows.
  var liveBytes: Int? { get }
  func close() throws
}

/// Edits of rows, as C reads them: for each its kind and lengths, then its key and its value.
package struct RowBatch: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func put(_ key: [UInt8], _ value: [UInt8]) { add(PEER_PUT, key, value) }
  package mutating func delete(_ key: [UInt8]) { add(PEER_DELETE, key, []) }
  package mutating func clear(_ from: [UInt8], _ to: [UInt8]) { add(PEER_CLEAR, from, to) }

  private mutating func add(_ kind: peer_edit_kind, _ key: [UInt8], _ value: [UInt8]) {
    var edit = peer_edit(
      kind: kind.rawValue, key_count: UInt32(key.count), value_count: UInt32(value.count))
    withUnsafeBytes(of: &edit) { bytes.append(contentsOf: $0) }
    bytes += key
    bytes += value
  }

  /// Reads edits again, for stores that are not in C.
  package static func forEach(
    _ edits: UnsafeRawBufferPointer,
    _ body: (
      peer_edit_kind, _ key: Slice<UnsafeRawBufferPointer>, _ value: Slice<UnsafeRawBufferPointer>
    )
      throws -> Void
  ) rethrows {
    var at = 0
    let head = MemoryLayout<peer_edit>.size
    while at + head <= edits.count {
      let edit = edits.loadUnaligned(fromByteOffset: at, as: peer_edit.self)
      let key = at + head
      let value = key + Int(edit.key_count)
      at = value + Int(edit.value_count)
      try body(peer_edit_kind(rawValue: edit.kind), edits[key..<value], edits[value..<at])
    }
  }
}

extension RowStore {
  /// Applies a batch whole or not at all.
  package func commit(_ batch: RowBatch) throws {
    try batch.bytes.withUnsafeBytes { try commit($0) }
  }
}

/// Keys of rows: a letter for what they are of, then a path with 0x01 for each slash.
package enum RowKey {
  /// Of data, of the notes of what was used, of pins, of queues, of an index.
  package static let (data, use, pin, queue, index) = ("d", "u", "p", "q", "i")

  package static func of(_ kind: String, _ path: String) -> [UInt8] {
    var key = Array(kind.utf8)
    key.reserveCapacity(path.utf8.count + 2)
    key.append(1)
    for byte in path.utf8 { key.append(byte == UInt8(ascii: "/") ? 1 : byte) }
    return key
  }

  /// The keys below a path: from the first to the one behind the last.
  package static func below(_ kind: String, _ path: String) -> (from: [UInt8], to: [UInt8]) {
    let key = path.isEmpty ? Array(kind.utf8) : of(kind, path)
    return (key + [1], key + [2])
  }

  /// A number whose bytes sort as it does.
  package static func number(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }
}

/// Why a raw engine refused.
package struct RowError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
