#if RocksDB
  public import ConiferKeyValue

  extension RocksDBStore {
    /// Reads every row of the newest commit, with the checksums of the blocks that hold them, and
    /// compares the bytes that they take with what the store's own row says.
    ///
    /// - Throws: `io`, `closed`, `suspended`.
    public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
      let view = try view()
      defer { view.close() }
      var isWhole = true
      func reading(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
          try body()
        } catch {
          guard [.damaged, .newerFormat].contains(error.code) else { throw error }
          isWhole = false
          found(
            StoreFinding(file: path, offset: 0, bytes: 0, words: error.cause ?? error.message))
        }
      }
      var live = 0
      for id in 1...254 as ClosedRange<UInt8> {
        try reading { () throws(StoreError) in
          try view.walk(Space(id: id, shape: .rows), .atOrAfter([])) { key, value in
            live += BatchPlan.size(key.byteCount, value.byteCount)
            return .next
          }
        }
      }
      try reading { () throws(StoreError) in
        let record = try StoreRecord(view.value(StoreRecord.space, StoreRecord.key), path)
        guard isWhole, record.live != live else { return }
        throw .rocksDBDamaged(
          path, "the rows take \(live) bytes, and the store's own row says \(record.live)")
      }
      return true
    }
  }

  extension RocksDBStore {
    /// None: RocksDB refuses to open rather than leave something out.
    public var findings: [StoreFinding] { [] }

    /// Does nothing: there are no findings.
    public func acknowledgeFindings() throws(StoreError) {}
  }
#endif
