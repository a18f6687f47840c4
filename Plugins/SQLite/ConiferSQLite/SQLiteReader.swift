import ConiferKeyValue
import ConiferStorage

/// A SQLite store as it is read beside its owner: through connections that only read, and never checkpoint.
///
/// SQLite makes an empty log and its index where they are missing, and rebuilds the index where a killed owner
/// left it, under locks of its own; database and log stay as they are.
final class SQLiteReader: ReadableStore {
  let traits = SQLiteStore.traits
  private let file: DatabaseFile
  private let pool: ReaderPool
  /// The files as they were when the store was opened; nil when others took their place meanwhile.
  private let opened: [FileIdentity]?

  /// Opens a store for reading.
  ///
  /// - Throws: `missing`, `foreign`, `newerFormat`, `damaged`, `busy`, `denied`, `io`.
  init(at directory: String, _ options: SQLiteOptions) throws(StoreError) {
    file = DatabaseFile(directory: directory, options: options)
    pool = ReaderPool(file)
    switch try Platform.kind(of: file.path) {
    case .missing: throw StoreError.noStore(in: directory)
    // The file is not opened here: closing it would release SQLite's locks of another reader.
    case .file, .directory: break
    }
    // Its view also makes log and index, which the files are known by.
    let lease = try pool.lease(atMost: options.viewsAtMost)
    defer { lease.end() }
    let reader = try lease.enter()
    defer { lease.leave() }
    try file.checkFormat(reader.connection)
    opened = file.identity
  }

  deinit { close() }

  var isCurrent: Bool {
    guard let opened else { return false }
    return file.identity == opened
  }

  func view() throws(StoreError) -> any OrderedView {
    SQLiteView(try pool.lease(atMost: file.options.viewsAtMost))
  }

  func close() { _ = pool.shut(.closed) }
}
