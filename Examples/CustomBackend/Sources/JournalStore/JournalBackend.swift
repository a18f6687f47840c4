import ConiferKeyValue
import ConiferStorage

/// A backend on the journal.
public typealias JournalBackend = PackedBackend<JournalStore>

extension StorageConfiguration {
  /// Storage in a journal, in a directory of its own.
  public static func journal(
    at directory: String, options: StorageOptions = StorageOptions()
  ) -> StorageConfiguration {
    StorageConfiguration(name: "journal", location: directory, options: options) {
      () throws(StoreError) in
      let store = try JournalStore(at: directory)
      do throws(StoreError) {
        return try JournalBackend(store, name: "journal", options: options)
      } catch {
        try? store.close()
        throw error
      }
    }
  }
}

extension StorageKind {
  /// `journal:///path`: storage in a journal.
  public static let journal = StorageKind(name: "journal", files: [JournalStore.name]) {
    (url, options) in .journal(at: url.path, options: options)
  }
}
