import ConiferKeyValue

/// The names in a store's directory that are the store's: those of its kind, and those that stores of every kind may have.
/// Whatever else is there is somebody else's.
struct StoreNames {
  /// Those of the kind; nil when it does not tell them.
  private let kind: StorageConfiguration.FileNames?

  private static let ofAll: Set<String> = [
    "owner", "reserve", SyncMarkFile.name, UnfinishedStore.file, UnfinishedStore.draft,
    PlainMark.name, UnfinishedStore.ended,
  ]

  /// Those of a kind that does not tell them: all but hidden ones.
  static let untold = StoreNames(nil)

  /// - Parameter kind: what a configuration says of them.
  init(_ kind: StorageConfiguration.FileNames?) { self.kind = kind }

  /// Whether nothing is taken for the store's that is not.
  var areTold: Bool { kind != nil }

  func contains(_ name: String) -> Bool {
    Self.ofAll.contains(name) || kind?(name) ?? (name.utf8.first != UInt8(ascii: "."))
  }

  /// Those that are there, in order.
  ///
  /// - Throws: `denied`, `io`.
  func all(in directory: String) throws(StoreError) -> [String] {
    try Directory.names(in: directory).filter { name in
      // Those of all stores are files.
      contains(name)
        && !(Self.ofAll.contains(name) && Directory.isDirectory("\(directory)/\(name)"))
    }
  }
}
