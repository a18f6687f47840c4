import ConiferStorage

/// A file that is being written under another name beside it, and gets its own when it is whole, so
/// that a failed export leaves what was there.
struct ExportFile {
  let descriptor: Int32
  private let path: String
  /// The name until then; nil for a pipe or device, which is written to at once.
  private let draft: String?

  /// Opens a draft.
  ///
  /// - Throws: as opening for writing.
  init(_ path: String) throws(Failure) {
    // The target of a link is replaced, not the link.
    let path = Platform.absolute(path)
    self.path = path
    if Platform.isMissing(path) || Platform.isRegularFile(path) {
      let draft = path + ".part"
      descriptor = try Platform.openForWriting(draft)
      self.draft = draft
    } else {
      descriptor = try Platform.openForWriting(path)
      draft = nil
    }
  }

  /// Gives the file its name.
  func finish() throws(Failure) {
    guard let draft else { return }
    try Platform.sync(descriptor)
    try Platform.move(draft, to: path)
  }

  /// Closes the file and removes what did not get its name.
  func discard() {
    Platform.closeFile(descriptor)
    if let draft { Directory.remove(draft) }
  }
}
