#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue

  /// A batch in RocksDB's form, with its effect on the live bytes.
  ///
  /// The old size of each changed row is looked up, so that the store knows its live bytes without
  /// a scan; RocksDB does not count them. A clear of few rows becomes single deletes, because each
  /// range deletion slows down every later read until it is compacted away.
  struct BatchPlan: ~Copyable {
    /// A clear of more rows is deleted as a range.
    private static let fewRows = 64
    /// The approximate size of a row: its key, its value and RocksDB's overhead.
    static func size(_ key: Int, _ value: Int) -> Int { 16 + key + value }

    let batch: OpaquePointer
    /// Bytes of live rows after the batch.
    private(set) var live: Int
    /// Whether rows were removed or replaced, so that compacting gives space back.
    private(set) var givesBack = false

    private let engine: Engine
    /// The size of each row that the batch has touched so far; nil for those that it removed.
    private var touched: [Bytes: Int?] = [:]
    /// Ranges that the batch deleted as ranges; rows that it touched since are in `touched`.
    private var cleared: [(from: Bytes, to: Bytes)] = []

    /// - Parameter note: the store's note in the log's record.
    init(_ engine: Engine, live: Int, note: WriteAheadLog.Note) {
      self.engine = engine
      self.live = live
      batch = rocksdb_writebatch_create()
      note.bytes.withUnsafeBytes {
        let bytes = $0.assumingMemoryBound(to: CChar.self)
        rocksdb_writebatch_put_log_data(batch, bytes.baseAddress, bytes.count)
      }
    }

    deinit { rocksdb_writebatch_destroy(batch) }

    mutating func add(_ edit: Batch.Edit) throws(StoreError) {
      switch edit {
      case .put(let space, let key, let value):
        let new = Self.size(key.count, value.count)
        let old = try size(of: space, key)
        if old != nil { givesBack = true }
        live += new - (old ?? 0)
        touched[[space.id] + key] = .some(new)
        put(space, key, value)
      case .delete(let space, let key):
        guard let old = try size(of: space, key) else { return }
        live -= old
        remove(space, key)
      case .clear(let space, let from, let to):
        guard bytesPrecede(from, to) else { return }
        try clear(space, from, to)
      }
    }

    /// Stores a row of the store itself.
    func put(_ space: Space, _ key: Bytes, _ value: Bytes) {
      withKey(space, key) { name, count in
        value.withUnsafeBytes {
          let bytes = $0.assumingMemoryBound(to: CChar.self)
          rocksdb_writebatch_put(batch, name, count, bytes.baseAddress, bytes.count)
        }
      }
    }

    private mutating func remove(_ space: Space, _ key: Bytes) {
      touched[[space.id] + key] = .some(nil)
      givesBack = true
      withKey(space, key) { rocksdb_writebatch_delete(batch, $0, $1) }
    }

    /// The size of a row after the edits so far; nil when it is absent.
    private func size(of space: Space, _ key: Bytes) throws(StoreError) -> Int? {
      let whole = [space.id] + key
      if let known = touched[whole] { return known }
      if isCleared(whole) { return nil }
      return try engine.get(space, key, engine.tuning.reading) {
        Self.size(key.count, $0.byteCount)
      }
    }

    private func isCleared(_ whole: Bytes) -> Bool {
      cleared.contains { !bytesPrecede(whole, $0.from) && bytesPrecede(whole, $0.to) }
    }

    private mutating func clear(_ space: Space, _ from: Bytes, _ to: Bytes) throws(StoreError) {
      let (first, end) = ([space.id] + from, [space.id] + to)
      func isInside(_ whole: Bytes) -> Bool {
        !bytesPrecede(whole, first) && bytesPrecede(whole, end)
      }
      var keys = touched.filter { $0.value != nil && isInside($0.key) }.map {
        Bytes($0.key.dropFirst())
      }
      var gone = keys.reduce(0) { $0 + ((touched[[space.id] + $1] ?? nil) ?? 0) }
      var rows = keys.count
      try engine.walk(space, .atOrAfter(from), engine.tuning.reading) { key, value in
        if key.compare(to) >= 0 { return .stop }
        let name = Bytes(key)
        let whole = [space.id] + name
        if touched[whole] != nil || isCleared(whole) { return .next }
        rows += 1
        gone += Self.size(key.byteCount, value.byteCount)
        if rows <= Self.fewRows { keys.append(name) }
        return .next
      }
      guard rows > 0 else { return }
      live -= gone
      givesBack = true
      if rows <= Self.fewRows {
        for key in keys { remove(space, key) }
        return
      }
      for whole in touched.keys.filter(isInside) { touched[whole] = nil }
      cleared.append((first, end))
      withKey(space, from) { name, count in
        withKey(space, to) { rocksdb_writebatch_delete_range(batch, name, count, $0, $1) }
      }
    }
  }
#endif
