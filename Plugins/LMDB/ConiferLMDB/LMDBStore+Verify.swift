internal import CLMDB
public import ConiferKeyValue
internal import ConiferStorage

extension LMDBStore {
  /// Walks the pages of the newest commit in the file, without the map: each lies within the file, is
  /// reached once and is not free, holds its nodes inside itself, in order and between its
  /// neighbours' keys, and large values lie where pages say.
  ///
  /// LMDB 0.9 has no page checksums: only the checksums of records above reveal changes inside a
  /// value. LMDB trusts its pages, so views must not be read after a finding.
  ///
  /// - Throws: `io`, `suspended`, `full` (no reader slot left), `closed` (also when the store is suspended or closed
  ///   meanwhile).
  public func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    // The page layout is known for 64-bit systems.
    guard MemoryLayout<Int>.size == 8 else { return true }
    let environment = try environment()
    let name = path + "/data.mdb"
    guard let file = System.open(name) else {
      throw Platform.error(System.lastError, "open the LMDB file", name)
    }
    defer { Platform.close(file) }
    func lost(_ words: String) -> Bool {
      found(StoreFinding(file: name, offset: 0, bytes: 2 * environment.pageSize, words: words))
      return false
    }
    // A concurrent commit may replace the meta page before it is read.
    for _ in 0..<100 {
      guard case .success(let length) = System.length(name) else {
        throw Platform.error(System.lastError, "measure", name)
      }
      do throws(StoreError) {
        let reader = try environment.read()
        defer { reader.close() }
        guard let transaction = reader.enter() else { throw .lmdbClosed(path) }
        defer { reader.leave() }
        let id = UInt64(mdb_txn_id(transaction))
        let meta = try LMDBMeta.read(file, of: id, pageSize: environment.pageSize, path)
        guard let meta else { continue }
        var check = LMDBTreeCheck(
          file: file, meta: meta, length: length, name: name, isEnding: { reader.isClosing })
        return try check.run(found)
      } catch {
        if [.damaged, .foreign, .newerFormat].contains(error.code) { return lost(error.message) }
        // LMDB has no specific error for an invalid meta page.
        guard error.code == .io else { throw error }
        do throws(StoreError) {
          _ = try LMDBMeta.read(file, length: length, path)
        } catch { return lost(error.message) }
        throw error
      }
    }
    return lost("no meta page is that of the newest commit")
  }
}

extension LMDBStore {
  /// None: LMDB leaves nothing out at opening; damage is reported when it is read.
  public var findings: [StoreFinding] { [] }

  /// Does nothing: there are no findings.
  public func acknowledgeFindings() throws(StoreError) {}
}
