@_spi(Stores) import ConiferKeyValue
import ConiferStorage

/// A state of a store: the changes since the last fold, the tables, and the segments that both
/// point to.
struct Snapshot: Sendable {
  /// By stored key.
  var tail = SortedBytes<TailEntry>()
  /// Newest first.
  var tables: [Table] = []
  var segments: [UInt64: Segment] = [:]
  var gaps = DeletedRanges()
  /// How many keys commits have changed since opening.
  var version: UInt64 = 0

  /// The index entry of a stored key; nil when it is absent.
  ///
  /// - Throws: `damaged`, `io`.
  func find(_ key: Bytes) throws(StoreError) -> Slot? {
    guard let slot = tail[key]?.slot else { return try findInTables(key) }
    return slot == .gone ? nil : slot
  }

  /// The tables' entry of a stored key; nil when it is absent.
  func findInTables(_ key: Bytes) throws(StoreError) -> Slot? {
    for table in tables {
      if let slot = try table.find(key) { return slot == .gone ? nil : slot }
    }
    return nil
  }

  /// The segment of a key's value in tables, and the value's length there.
  func staleValue(_ key: Bytes) -> (segment: Segment, bytes: Int)? {
    guard let found = try? findInTables(key), case .value(let pointer) = found,
      let segment = segments[pointer.segment]
    else { return nil }
    return (segment, pointer.weight(key))
  }

  /// Lends the bytes of a value.
  ///
  /// - Parameter key: for the message, behind the space's number.
  /// - Throws: `damaged` with the record's place, `io`.
  func lend<R>(
    _ slot: LentSlot, _ key: UnsafeRawBufferPointer, _ buffer: inout ReadBuffer,
    _ body: (RawSpan) -> R
  ) throws(StoreError) -> R {
    switch slot {
    case .gone: return body(UnsafeRawBufferPointer(start: nil, count: 0).bytes)
    case .small(let bytes): return body(bytes.bytes)
    case .value(let pointer): return body(try value(pointer, Bytes(key), &buffer).bytes)
    }
  }

  /// The bytes of a value, in the buffer.
  ///
  /// - Parameter key: for the message, behind the space's number.
  /// - Throws: `damaged` with the record's place, `io`.
  func value(
    _ pointer: Pointer, _ key: @autoclosure () -> Bytes, _ buffer: inout ReadBuffer
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let bytes = try read(pointer, key(), &buffer)
    guard XXHash64.short(bytes) == pointer.checksum else {
      throw damaged(pointer, key(), "a value has a wrong checksum", Bytes(bytes))
    }
    return bytes
  }

  /// The stored bytes of a value, whatever their checksum says.
  ///
  /// - Throws: `damaged` with the record's place when they are not there, `io`.
  func read(
    _ pointer: Pointer, _ key: @autoclosure () -> Bytes, _ buffer: inout ReadBuffer
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    guard let segment = segments[pointer.segment] else {
      throw damaged(pointer, key(), "the index points to a file that is not listed")
    }
    let room = buffer.room(Int(pointer.length))
    guard try segment.read(pointer, into: room) else {
      throw damaged(pointer, key(), "it ends within a value")
    }
    return UnsafeRawBufferPointer(room)
  }

  private func damaged(
    _ pointer: Pointer, _ key: Bytes, _ what: String, _ found: Bytes? = nil
  ) -> StoreError {
    let path = segments[pointer.segment]?.path ?? "segment \(pointer.segment)"
    return StoreError.damagedFile(
      path, "\(what) (byte \(pointer.offset))",
      place: StoreError.Place(space: key.first ?? 0, key: Bytes(key.dropFirst())),
      found: found)
  }
}

/// Memory for the values of one read, used again from value to value.
struct ReadBuffer: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init() {}

  deinit { memory.deallocate() }

  /// A buffer of the given length; earlier contents are invalid.
  mutating func room(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if memory.count < count {
      memory.deallocate()
      memory = .allocate(byteCount: max(count, 4096), alignment: 8)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }
}
