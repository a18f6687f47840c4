#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue
  internal import Synchronization

  /// A snapshot of RocksDB and the count of reads of it.
  ///
  /// Whoever closes never waits for a read: a snapshot that is being read ends with the last read.
  final class Reader: @unchecked Sendable {
    // Unchecked: the snapshot is used between `enter` and `leave` only, and released once.

    /// Set in `state` once the snapshot is to be released.
    private static let closing = 1 << 32

    let engine: Engine
    let options: OpaquePointer
    private let snapshot: OpaquePointer?
    /// The number of reads under way, and `closing`.
    private let state = Atomic(0)

    init(_ engine: Engine) {
      self.engine = engine
      snapshot = rocksdb_create_snapshot(engine.handle)
      options = rocksdb_readoptions_create()
      rocksdb_readoptions_set_verify_checksums(options, 1)
      rocksdb_readoptions_set_snapshot(options, snapshot)
    }

    /// Enters a read; false when the reader is closed. Every success is followed by `leave`.
    func enter() -> Bool {
      if state.add(1, ordering: .acquiring).newValue < Self.closing { return true }
      leave()
      return false
    }

    /// Leaves a read.
    func leave() {
      endIfLast(state.subtract(1, ordering: .acquiringAndReleasing).newValue)
    }

    /// Releases the snapshot, or lets the last read under way do it.
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
      engine.end(self)
    }

    /// Gives the snapshot back to RocksDB; called by the engine, once.
    func release() {
      rocksdb_readoptions_destroy(options)
      if let snapshot { rocksdb_release_snapshot(engine.handle, snapshot) }
    }
  }

  /// A frozen view of a ``RocksDBStore``: a snapshot of its own.
  final class RocksDBView: OrderedView {
    private let reader: Reader

    init(_ reader: Reader) { self.reader = reader }

    deinit { reader.close() }

    func walkLocked(
      _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
    ) throws(StoreError) {}

    func close() { reader.close() }

    func get<R>(
      _ space: Space, _ key: Bytes, _ read: (RawSpan) -> R
    ) throws(StoreError) -> R? {
      guard reader.enter() else { throw .rocksDBClosed(reader.engine.path) }
      defer { reader.leave() }
      return try reader.engine.get(space, key, reader.options, read)
    }

    func walk(
      _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
    ) throws(StoreError) {
      guard reader.enter() else { throw .rocksDBClosed(reader.engine.path) }
      defer { reader.leave() }
      try reader.engine.walk(space, origin, reader.options, visit)
    }
  }

  extension Engine {
    /// Lends the value of a key; nil when it is absent.
    func get<R>(
      _ space: Space, _ key: Bytes, _ options: OpaquePointer, _ read: (RawSpan) -> R
    ) throws(StoreError) -> R? {
      let (found, words) = withKey(space, key) { name, count in
        withErrorMessage { rocksdb_get_pinned(handle, options, name, count, $0) }
      }
      if let words { throw .rocksDB(words, "read", path) }
      guard let found else { return nil }
      defer { rocksdb_pinnableslice_destroy(found) }
      var count = 0
      let bytes = rocksdb_pinnableslice_value(found, &count)
      return read(UnsafeRawBufferPointer(start: bytes, count: count).bytes)
    }

    /// Visits the keys of a space in order from an origin.
    func walk(
      _ space: Space, _ origin: Origin, _ options: OpaquePointer,
      _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
    ) throws(StoreError) {
      guard let iterator = rocksdb_create_iterator(handle, options) else { return }
      defer { rocksdb_iter_destroy(iterator) }
      let ascends: Bool
      switch origin {
      case .atOrAfter(let from):
        ascends = true
        withKey(space, from) { rocksdb_iter_seek(iterator, $0, $1) }
      case .atOrBefore(let from):
        ascends = false
        withKey(space, from) { rocksdb_iter_seek_for_prev(iterator, $0, $1) }
      }
      while rocksdb_iter_valid(iterator) != 0 {
        var length = 0
        let key = rocksdb_iter_key(iterator, &length)
        let whole = UnsafeRawBufferPointer(start: key, count: length)
        guard length > 0, whole[0] == space.id else { return }
        let name = UnsafeRawBufferPointer(rebasing: whole[1...]).bytes
        var count = 0
        let value = rocksdb_iter_value(iterator, &count)
        switch visit(name, UnsafeRawBufferPointer(start: value, count: count).bytes) {
        case .stop: return
        case .jump(let target) where ascends ? name.compare(target) < 0 : name.compare(target) > 0:
          withKey(space, target) {
            ascends
              ? rocksdb_iter_seek(iterator, $0, $1) : rocksdb_iter_seek_for_prev(iterator, $0, $1)
          }
        case .next, .jump:
          if ascends { rocksdb_iter_next(iterator) } else { rocksdb_iter_prev(iterator) }
        }
      }
      if let words = withErrorMessage({ rocksdb_iter_get_error(iterator, $0) }).1 {
        throw .rocksDB(words, "read", path)
      }
    }
  }

  /// Lends the stored form of a key: the space byte, then the key.
  @inline(__always)
  func withKey<R>(_ space: Space, _ key: Bytes, _ body: (UnsafePointer<CChar>?, Int) -> R) -> R {
    withUnsafeTemporaryAllocation(byteCount: key.count + 1, alignment: 1) { buffer in
      buffer[0] = space.id
      key.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: $0)
      }
      return buffer.withMemoryRebound(to: CChar.self) {
        body($0.baseAddress.map { .init($0) }, $0.count)
      }
    }
  }
#endif
