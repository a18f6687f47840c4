import ConiferKeyValue
import ConiferStorage

/// A backend on the journal.
public typealias JournalBackend = PackedBackend<JournalStore>

extension StorageConfiguration {
  /// Storage in a journal, in a directory of its own.
  public static func journal(
    at directory: String, options: StorageOptions = StorageOptions()
  ) -> StorageConfiguration {
    StorageConfiguration(
      name: "journal", location: directory, options: options, files: { $0 == JournalStore.name }
    ) { (options) throws(StoreError) in
      try JournalBackend.open(JournalStore(at: directory), name: "journal", options: options)
    }
  }
}

extension StorageKind {
  /// `journal:///path`: storage in a journal.
  public static let journal = StorageKind(name: "journal", files: [JournalStore.name]) {
    (url, options) in .journal(at: url.path, options: options)
  }
}
