import ConiferKeyValue
import ConiferStorage

/// A copy of a store's files in the directory for temporary files, which is opened in place of the store, so that nothing
/// of the store changes.
struct ScratchCopy {
  private let scratch: String

  /// The copy's directory.
  var directory: String { scratch + "/store" }

  /// Copies the files of a directory, also the one that names the kind of the store and its last owner: they tell whether a
  /// file is missing.
  ///
  /// - Parameter freeSpace: the bytes that are free on the volume of a path; nil when that is not known.
  /// - Throws: `full` when they do not fit, `denied`, `io`.
  init(
    of store: String, freeSpace: (String) -> Int? = { Platform.freeSpace(at: $0) }
  ) throws {
    scratch = try Platform.temporaryDirectory(prefix: "conifer-copy")
    do {
      let needed = try Self.files(store).reduce(0) { $0 + $1.bytes }
      if let free = freeSpace(scratch), free < needed {
        throw Failure(
          "full", .full,
          "A copy of the store takes \(Figures.bytes(needed)), and only \(Figures.bytes(free)) are free in the "
            + "directory for temporary files: name another one by TMPDIR. Nothing was changed.")
      }
      try Directory.copyFiles(store, to: directory, leaving: [])
    } catch {
      Directory.remove(scratch)
      throw error
    }
  }

  /// Removes the copy.
  func remove() { Directory.remove(scratch) }

  /// The regular files of a directory with their lengths.
  ///
  /// - Throws: `denied`, `io`.
  static func files(_ directory: String) throws(StoreError) -> [(name: String, bytes: Int)] {
    try Directory.names(in: directory).compactMap { name in
      Platform.length("\(directory)/\(name)").map { (name, $0) }
    }
  }
}
