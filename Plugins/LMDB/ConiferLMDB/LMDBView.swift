internal import CLMDB
internal import ConiferKeyValue
internal import Synchronization

/// A read transaction and the count of reads inside it.
///
/// Closing never waits for a read: a transaction that is being read ends with the last read.
final class LMDBReader: @unchecked Sendable {
  // Unchecked: the transaction is used between `enter` and `leave` only, and ended once.

  /// Set in `state` once the transaction is to end.
  private static let closing = 1 << 32

  let environment: LMDBEnvironment
  private let transaction: OpaquePointer
  /// The number of reads under way, and `closing`.
  private let state = Atomic(0)

  init(environment: LMDBEnvironment, transaction: OpaquePointer) {
    self.environment = environment
    self.transaction = transaction
  }

  /// Enters a read; nil when the reader is closed. Every success is followed by `leave`.
  func enter() -> OpaquePointer? {
    if state.add(1, ordering: .acquiring).newValue < Self.closing { return transaction }
    // The transaction may have ended or be ending: leave without touching it.
    endIfLast(state.subtract(1, ordering: .acquiringAndReleasing).newValue)
    return nil
  }

  /// Whether the transaction ends once no read is under way.
  var isClosing: Bool { state.load(ordering: .relaxed) >= Self.closing }

  /// Leaves a read.
  func leave() {
    endIfLast(state.subtract(1, ordering: .acquiringAndReleasing).newValue)
  }

  /// Ends the transaction, or lets the last read under way end it.
  func close() {
    let old = state.bitwiseOr(Self.closing, ordering: .acquiringAndReleasing).oldValue
    if old < Self.closing { endIfLast(old | Self.closing) }
  }

  private func endIfLast(_ now: Int) {
    // Exactly one thread moves the count of a closing reader away from this value.
    guard now == Self.closing,
      state.compareExchange(
        expected: Self.closing, desired: Self.closing << 1, ordering: .acquiringAndReleasing
      ).exchanged
    else { return }
    environment.end(self, transaction)
  }
}

/// A frozen view of an ``LMDBStore``: a read transaction of its own.
final class LMDBView: OrderedView {
  private let reader: LMDBReader

  init(_ reader: LMDBReader) { self.reader = reader }

  deinit { reader.close() }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() { reader.close() }

  func get<R>(
    _ space: Space, _ key: Bytes, _ read: (RawSpan) -> R
  ) throws(StoreError) -> R? {
    guard let transaction = reader.enter() else { throw .lmdbClosed(reader.environment.path) }
    defer { reader.leave() }
    var value = MDB_val()
    let result = withKey(space, key) { key in
      var key = key
      return mdb_get(transaction, reader.environment.tree, &key, &value)
    }
    if result == MDB_NOTFOUND { return nil }
    guard result == 0 else { throw .lmdb(result, "read", reader.environment.path) }
    return read(UnsafeRawBufferPointer(value).bytes)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    guard let transaction = reader.enter() else { throw .lmdbClosed(reader.environment.path) }
    defer { reader.leave() }
    var opened: OpaquePointer?
    var result = mdb_cursor_open(transaction, reader.environment.tree, &opened)
    guard result == 0, let cursor = opened else {
      throw .lmdb(result, "read", reader.environment.path)
    }
    defer { mdb_cursor_close(cursor) }
    let ascends: Bool
    var key = MDB_val()
    var value = MDB_val()
    switch origin {
    case .atOrAfter(let from):
      ascends = true
      result = seek(cursor, space, from, ascends, &key, &value)
    case .atOrBefore(let from):
      ascends = false
      result = seek(cursor, space, from, ascends, &key, &value)
    }
    let move = ascends ? MDB_NEXT : MDB_PREV
    while result == 0 {
      // Who suspends the store waits for this.
      if reader.isClosing { throw .lmdbClosed(reader.environment.path) }
      let whole = UnsafeRawBufferPointer(key)
      guard whole.count > 0, whole[0] == space.id else { return }
      let name = UnsafeRawBufferPointer(rebasing: whole[1...]).bytes
      switch visit(name, UnsafeRawBufferPointer(value).bytes) {
      case .stop:
        return
      case .next:
        result = mdb_cursor_get(cursor, &key, &value, move)
      case .jump(let target):
        let order = name.compare(target)
        if ascends ? order < 0 : order > 0 {
          result = seek(cursor, space, target, ascends, &key, &value)
        } else {
          result = mdb_cursor_get(cursor, &key, &value, move)
        }
      }
    }
    if result != MDB_NOTFOUND { throw .lmdb(result, "read", reader.environment.path) }
  }

  /// Moves a cursor to the first key at or after, or the last at or before, a key of a space.
  private func seek(
    _ cursor: OpaquePointer, _ space: Space, _ target: Bytes, _ ascends: Bool,
    _ key: inout MDB_val, _ value: inout MDB_val
  ) -> Int32 {
    withKey(space, target) { wanted in
      key = wanted
      let result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
      if ascends { return result }
      if result == MDB_NOTFOUND { return mdb_cursor_get(cursor, &key, &value, MDB_LAST) }
      guard result == 0 else { return result }
      let isExact =
        key.mv_size == wanted.mv_size
        && UnsafeRawBufferPointer(key).elementsEqual(UnsafeRawBufferPointer(wanted))
      return isExact ? 0 : mdb_cursor_get(cursor, &key, &value, MDB_PREV)
    }
  }
}

/// Lends the stored form of a key: the space byte, then the key.
@inline(__always)
func withKey<R>(_ space: Space, _ key: Bytes, _ body: (MDB_val) -> R) -> R {
  withUnsafeTemporaryAllocation(byteCount: key.count + 1, alignment: 1) { buffer in
    buffer[0] = space.id
    key.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: $0)
    }
    return body(MDB_val(mv_size: buffer.count, mv_data: buffer.baseAddress))
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes that LMDB lends.
  @inline(__always)
  init(_ value: MDB_val) {
    self.init(start: value.mv_data, count: value.mv_size)
  }
}
