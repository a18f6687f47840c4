/// The output of an export: a file that gets its name when it is whole, or standard output.
final class ExportDraft {
  private let file: ExportFile?
  private let console: Console
  private var isBegun = false

  /// Opens the output.
  ///
  /// - Parameter name: the file; nil for standard output.
  init(_ name: String?, _ console: Console) throws(Failure) {
    if let name { file = try ExportFile(name) } else { file = nil }
    self.console = console
  }

  func write(_ bytes: [UInt8]) throws {
    isBegun = true
    guard let file else { return try console.write(bytes) }
    try Platform.write(bytes, to: file.descriptor)
  }

  /// Begins anew, when a cache that met damaged data has dropped it and is read once more.
  func restart() throws(Failure) {
    guard isBegun, file.map({ Platform.empty($0.descriptor) }) != true else { return }
    throw Failure(
      "damaged", .damaged,
      "Damaged data was found and dropped when a part was written already: the output is "
        + "cut. Export again to write what is left; conifer stats shows what was lost.")
  }

  /// Gives the file its name.
  func finish() throws(Failure) { try file?.finish() }

  /// Closes the file and removes what did not get its name.
  func discard() { file?.discard() }
}
