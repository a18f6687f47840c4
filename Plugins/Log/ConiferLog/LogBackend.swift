import ConiferKeyValue
public import ConiferStorage

/// The storage backend over a ``LogStore``.
public typealias LogBackend = PackedBackend<LogStore>

extension StorageConfiguration {
  /// Storage in a log, in a directory of its own.
  ///
  /// - Parameters:
  ///   - directory: made if it is missing.
  ///   - options: the options that every backend takes.
  ///   - log: the log's own options.
  public static func log(
    at directory: String, options: StorageOptions = StorageOptions(),
    log: LogOptions = LogOptions()
  ) -> StorageConfiguration {
    let salvage = SalvageMethod(
      read: { (directory, _, edit, lost) throws(StoreError) in
        try LogSalvage.read(
          directory, precious: SalvageMethod.precious, edit: edit, lost: lost)
      },
      rows: { (directory) throws(StoreError) in try LogStore(at: directory, log) },
      elsewhere: { directory, options in .log(at: directory, options: options, log: log) })
    return StorageConfiguration(
      name: "log", location: directory, options: options, salvage: salvage,
      reading: { (directory) throws(StoreError) in
        try LogReader(at: directory, log, files: SystemFiles())
      },
      files: { ["manifest", "manifest.new"].contains($0) || FileName($0) != nil }
    ) { (options) throws(StoreError) in
      try LogBackend.open(LogStore(at: directory, log), name: "log", options: options)
    }
  }
}

extension StorageKind {
  /// `log:///path`: storage in a log.
  public static let log = StorageKind(
    name: "log",
    options: [Option("segment", "bytes of a segment, from 64KB to 64MB, such as 4MB")],
    files: ["manifest"]
  ) { (url, options) throws(StoreError) in
    var own = LogOptions()
    if let text = url.value(of: "segment") {
      guard let bytes = StorageOptions.byteCount(text), (64 << 10...64 << 20).contains(bytes) else {
        throw StoreError(.invalid, "segment=\(text) is not valid. Set 64KB to 64MB.")
      }
      own.segment = bytes
    }
    return .log(at: url.path, options: options, log: own)
  }
}
