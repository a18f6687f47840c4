internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage

extension LMDBStore {
  /// Allocates space for a batch before LMDB writes: a write beyond the file's end that a full disk
  /// cuts short would look like a failing disk.
  ///
  /// - Throws: `full` for a batch that takes space; one that frees space uses the reserve.
  func makeRoom(
    _ batch: Batch, _ writer: inout Writer, _ environment: LMDBEnvironment
  ) throws(StoreError) {
    var file: Int32 = -1
    guard !batch.isEmpty, mdb_env_get_fd(environment.handle, &file) == 0 else { return }
    guard batch.makesRoom || writer.reserve.set() else { throw noSpace }
    var room = room(for: batch, environment)
    guard Self.isFull(file, environment.end + room) else { return }
    guard batch.makesRoom else { throw noSpace }
    guard writer.reserve.release() else { return }
    while room >= environment.pageSize, Self.isFull(file, environment.end + room) { room /= 2 }
  }

  /// Lengthens the file to a size, and a little more when possible; returns whether the disk is too
  /// full.
  private static func isFull(_ file: Int32, _ length: Int) -> Bool {
    guard let known = System.length(file), known < length else { return false }
    // In steps, so that not every commit changes the file's length.
    let ahead = min(max(length / 16, 64 << 10), 4 << 20)
    if Platform.allocate(file, length + ahead) == 0 { return false }
    return Platform.meansFull(Platform.allocate(file, length))
  }

  /// Whether a commit failed because of a full disk: LMDB reports a write that is cut short as EIO.
  /// When LMDB begins no further transaction, a meta page could not be written, which is not a full
  /// disk.
  func wasCutShort(_ batch: Batch, _ environment: LMDBEnvironment) -> Bool {
    var file: Int32 = -1
    guard mdb_env_get_fd(environment.handle, &file) == 0,
      Self.isFull(file, environment.end + room(for: batch, environment))
    else { return false }
    var begun: OpaquePointer?
    guard mdb_txn_begin(environment.handle, nil, 0, &begun) == 0, let begun else { return false }
    mdb_txn_abort(begun)
    return true
  }

  private var noSpace: StoreError { Platform.error(System.noSpaceError, "write", path) }

  /// The approximate maximum of new pages in bytes: copies of the pages that edits touch, with
  /// those above them, the values, and the lists of free pages.
  private func room(for batch: Batch, _ environment: LMDBEnvironment) -> Int {
    let size = environment.pageSize
    var stat = MDB_stat()
    mdb_env_stat(environment.handle, &stat)
    let touched = min(
      batch.edits.count * (Int(stat.ms_depth) + 1), stat.ms_branch_pages + stat.ms_leaf_pages)
    var bytes = (touched + 24) * size
    for case .put(_, let key, let value) in batch.edits {
      let row = key.count + value.count + 16
      bytes += row > size / 4 ? (row + size - 1) / size * size : 2 * row
    }
    return bytes
  }

  /// Truncates space that was allocated ahead, when the store closes.
  func truncatePreallocation(_ environment: LMDBEnvironment) {
    var file: Int32 = -1
    guard mdb_env_get_fd(environment.handle, &file) == 0, let length = System.length(file),
      length > environment.end
    else { return }
    System.cut(file, to: environment.end)
  }
}
