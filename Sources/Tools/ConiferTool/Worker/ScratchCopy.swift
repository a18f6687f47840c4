import ConiferKeyValue
import ConiferStorage

/// A copy of a store's files in the directory for temporary files, which is opened in place of the store, so that nothing
/// of the store changes.
struct ScratchCopy {
  /// What a copy may grow by besides itself: opening recovers it, and tidying writes what it packs anew.
  private static let headroom = 64 << 20

  private let scratch: ScratchDirectory

  /// The copy's directory.
  var directory: String { scratch.path + "/store" }

  /// Copies the files of a directory, also the one that names the kind of the store and its last owner: they tell whether a
  /// file is missing.
  ///
  /// - Parameter freeSpace: the bytes that are free on the volume of a path; nil when that is not known.
  /// - Throws: `denied` and `io` when the store cannot be read; `not-checked` when there is no room for twice the store, the
  ///   copy cannot be written, or a file of the store is a link, which would be copied as something else.
  init(
    of store: String, freeSpace: (String) -> Int? = { Platform.freeSpace(at: $0) }
  ) throws {
    let files = try Self.files(store)
    if let link = try Self.link(in: store) {
      throw Failure.notChecked(
        Failure(
          "foreign", .foreign,
          "\(link) is a link, and a copy of it would be something else: put the file itself in its place."
        ))
    }
    let scratch = try Failure.asNotChecked { try ScratchDirectory() }
    self.scratch = scratch
    do {
      let needed = 2 * files.reduce(0) { $0 + $1.bytes } + Self.headroom
      if let free = freeSpace(scratch.path), free < needed {
        throw Failure.notChecked(
          Failure(
            "full", .full,
            "looking at a copy takes up to \(Figures.bytes(needed)), and only \(Figures.bytes(free)) are free in the "
              + "directory for temporary files: name another one by TMPDIR."))
      }
      try Failure.asNotChecked { try Platform.makeDirectory(directory) }
      for file in files {
        try Self.copy("\(store)/\(file.name)", to: "\(directory)/\(file.name)")
      }
    } catch {
      scratch.remove()
      throw error
    }
  }

  /// Removes the copy.
  func remove() { scratch.remove() }

  /// The regular files of a directory with their lengths.
  ///
  /// - Throws: `denied`, `io`.
  static func files(_ directory: String) throws(StoreError) -> [(name: String, bytes: Int)] {
    try Directory.names(in: directory).compactMap { name in
      Platform.length("\(directory)/\(name)").map { (name, $0) }
    }
  }

  /// The first link among the names in a directory.
  private static func link(in directory: String) throws(StoreError) -> String? {
    try Directory.names(in: directory).map { "\(directory)/\($0)" }.first(where: Directory.isLink)
  }

  /// Copies a file; only what goes wrong with the store's own is told as it is.
  private static func copy(_ path: String, to new: String) throws {
    let source: Int32
    do throws(Failure) {
      source = try Platform.openForReading(path)
    } catch {
      // It was there a moment ago, so somebody uses the store.
      throw error.status == .missing ? Failure.notChecked(error) : error
    }
    defer { Platform.closeFile(source) }
    let target = try Failure.asNotChecked { try Platform.openForWriting(new) }
    defer { Platform.closeFile(target) }
    var chunk: [UInt8] = []
    while true {
      chunk.removeAll()
      guard try Platform.read(source, atMost: 1 << 20, into: &chunk) else { return }
      try Failure.asNotChecked { try Platform.write(chunk, to: target) }
    }
  }
}
