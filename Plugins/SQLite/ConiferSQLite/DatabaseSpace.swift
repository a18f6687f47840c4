import ConiferKeyValue
import ConiferStorage

/// The room on disk that the writer of a database needs: what is set aside, and the file's length.
///
/// A commit that adds pages makes the file long enough for them before it is done, so that folding
/// the log never needs space: a full disk can then be emptied however long the log is.
final class DatabaseSpace {
  var reserve: SpaceReserve
  /// Open as long as SQLite's own descriptors are: closing one drops the process's locks on the file.
  private var descriptor: Int32 = -1
  /// Up to which page the file is known to have room.
  private var pages = 0

  /// - Parameter file: with a VFS of its own, how long the file is to be is not known here.
  init(_ file: DatabaseFile, _ reserve: SpaceReserve) {
    self.reserve = reserve
    if file.options.vfs == nil { descriptor = Platform.openFile(file.path, writing: true) }
  }

  deinit { close() }

  /// Makes the file long enough for so many pages; whether the disk is too full.
  func isFull(upTo count: Int) -> Bool {
    guard descriptor >= 0, count > pages else { return false }
    let number = Platform.allocate(descriptor, count * DatabaseFile.pageSize)
    if number == 0 { pages = count }
    return Platform.meansFull(number)
  }

  /// Forgets the length of the file, which SQLite may have cut.
  func forgetLength() { pages = 0 }

  /// Lets go of the file, after SQLite did.
  func close() {
    if descriptor >= 0 { Platform.close(descriptor) }
    descriptor = -1
  }
}
