import ConiferKeyValue
import ConiferStorage

/// The room on disk that the writer of a database needs: what is set aside, and the file's length.
///
/// A commit that adds pages makes the file long enough for them before it is done, so that a checkpoint
/// of the log never needs space: a full disk can then be emptied however long the log is.
final class DatabaseSpace {
  var reserve: SpaceReserve
  private let file: DatabaseFile
  /// The write-ahead log, as long as SQLite has it, where syncs are made here.
  private var log: Int32 = -1
  /// Open as long as SQLite's own descriptors are: closing one drops the process's locks on the file.
  private var descriptor: Int32 = -1
  /// Up to which page the file is known to have room.
  private var pages = 0

  /// - Parameter file: the database; with a custom VFS its necessary length is unknown here.
  init(_ file: DatabaseFile, _ reserve: SpaceReserve) {
    self.reserve = reserve
    self.file = file
    if file.options.vfs == nil { descriptor = Platform.openFile(file.path, writing: true) }
  }

  deinit { close() }

  /// Makes the file long enough for a number of pages; returns whether the disk is too full.
  func isFull(upTo count: Int) -> Bool {
    guard descriptor >= 0, count > pages else { return false }
    let number = Platform.allocate(descriptor, count * DatabaseFile.pageSize)
    if number == 0 { pages = count }
    return Platform.meansFull(number)
  }

  /// Whether SQLite's syncs are not enough for power loss.
  var syncsItself: Bool { file.customSync != nil && file.options.vfs == nil }

  /// Makes the log survive power loss.
  ///
  /// - Returns: zero or an `errno`.
  func syncLog() -> Int32 {
    // SQLite keeps this file open, without a lock on it.
    if log < 0 { log = Platform.openFile(file.log, writing: true) }
    return file.customSync?(log) ?? 0
  }

  /// Syncs the database after a checkpoint, since the next commit may overwrite the log.
  ///
  /// - Returns: zero or an `errno`.
  func syncDatabase() -> Int32 {
    if descriptor < 0 { descriptor = Platform.openFile(file.path, writing: true) }
    return file.customSync?(descriptor) ?? 0
  }

  /// Forgets the length of the file, which SQLite may have cut.
  func forgetLength() { pages = 0 }

  /// Closes the file; SQLite must have closed it before.
  func close() {
    for open in [descriptor, log] where open >= 0 { Platform.close(open) }
    (descriptor, log) = (-1, -1)
  }
}
