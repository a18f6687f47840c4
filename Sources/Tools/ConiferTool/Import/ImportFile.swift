import ConiferTree

/// A JSON file that is read in chunks, as often as needed.
final class ImportFile {
  private static let chunk = 1 << 18
  private let descriptor: Int32
  /// The bytes of the file when it was opened.
  let size: Int

  /// Opens a regular file.
  init(_ path: String) throws {
    let descriptor = try Platform.openForReading(path)
    guard let size = Platform.size(descriptor) else {
      Platform.closeFile(descriptor)
      throw Failure(
        "no-input", .missing,
        "\(path) is no regular file: an import reads it twice, first to check it.")
    }
    self.descriptor = descriptor
    self.size = size
  }

  deinit { Platform.closeFile(descriptor) }

  /// A reader from the beginning; one at a time.
  func reader() throws -> JSONReader {
    try Platform.rewind(descriptor)
    return JSONReader { [self] buffer in
      try Platform.read(descriptor, atMost: Self.chunk, into: &buffer)
    }
  }
}
