import ConiferTree

/// Parsers of the command line's texts.
enum Input {
  /// A path as an app may name it; the last key may be `.priority`.
  static func path(_ text: String) throws -> Path { try Path(validating: text) }

  /// The JSON of an argument; `-` reads it from standard input.
  static func json(_ text: String) throws -> [UInt8] {
    guard text == "-" else { return Array(text.utf8) }
    var bytes: [UInt8] = []
    while try Platform.read(Platform.standardInput, atMost: 1 << 16, into: &bytes) {}
    return bytes
  }

  /// The bytes of a file, or of a pipe; `-` reads them from standard input.
  ///
  /// - Throws: also when there are more than it may have: a device may have no end.
  static func file(_ name: String, atMost limit: Int) throws -> [UInt8] {
    if name == "-" { return try bytes(of: Platform.standardInput, name, atMost: limit) }
    let descriptor = try Platform.openForReading(name)
    defer { Platform.closeFile(descriptor) }
    return try bytes(of: descriptor, name, atMost: limit)
  }

  /// The bytes of a regular file, which are there at once and again.
  ///
  /// - Throws: also when it is a pipe or a device, or has more bytes than it may have.
  static func regularFile(_ name: String, atMost limit: Int) throws -> [UInt8] {
    let descriptor = try Platform.openForReading(name, waits: false)
    defer { Platform.closeFile(descriptor) }
    guard Platform.size(descriptor) != nil else {
      throw Failure("not-a-file", .badData, "\(name) is no regular file. Name one.")
    }
    return try bytes(of: descriptor, name, atMost: limit)
  }

  private static func bytes(
    of descriptor: Int32, _ name: String, atMost limit: Int
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while try Platform.read(descriptor, atMost: 1 << 16, into: &bytes) {
      guard bytes.count <= limit else {
        throw Failure("too-large", .badData, "\(name) has more than \(limit) bytes.")
      }
    }
    return bytes
  }

  /// The members of a JSON object whose keys are relative paths; null becomes the empty node.
  static func members(_ json: [UInt8]) throws -> [(path: Path, node: Node)] {
    var reader = JSONReader(bytes: json)
    guard try reader.next() == .beginObject else {
      throw Failure(
        "not-an-object", .badData,
        "An update is a JSON object of relative paths and values, such as {\"a/b\": 1, \"c\": null}."
      )
    }
    var members: [(path: Path, node: Node)] = []
    while let event = try reader.next(), case .key(let key) = event {
      var writer = JSONWriter()
      repeat {
        guard let event = try reader.next() else { break }
        writer.write(event)
      } while reader.depth > 1
      let path = try Path(validating: key)
      guard !path.isRoot else {
        throw Failure(
          "invalid-key", .badData,
          "The update's key \"\(key)\" names no place below the path; set replaces the path itself."
        )
      }
      members.append((path, try Node(json: writer.bytes)))
    }
    // Reads on to the end, so that text after the object is refused.
    while try reader.next() != nil {}
    return members
  }
}
