import ConiferKeyValue
import ConiferStorage
import Foundation

/// Keeps the stores of databases with a server out of an app's backups, as the Apple SDK does, with the writes that wait
/// there and beside them.
enum BackupExclusion {
  /// Marks a directory, so that backups of the device leave it out; does nothing on systems without such a mark.
  static func mark(_ directory: String) {
    #if canImport(Darwin)
      var url = URL(fileURLWithPath: directory, isDirectory: true)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      // A directory that cannot be marked is backed up, which costs space and loses nothing.
      try? url.setResourceValues(values)
    #endif
  }
}

extension StorageConfiguration {
  /// The same storage, whose directory and mailbox are marked each time that it is opened, as a system may forget the mark.
  ///
  /// - Parameter hasServer: whether its data is elsewhere too; without a server nothing is marked.
  func excludedFromBackups(
    _ hasServer: Bool, by mark: @escaping @Sendable (String) -> Void = BackupExclusion.mark
  ) -> StorageConfiguration {
    guard hasServer else { return self }
    let storage = self
    return opened { (options) throws(StoreError) in
      let backend = try storage.with(options).open()
      if let location = storage.location { mark(location) }
      // Writes of other processes that were restored would be sent again.
      if let mailbox = storage.mailbox?.directory, !Directory.isMissing(mailbox) { mark(mailbox) }
      return backend
    }
  }
}
