extension FieldPath {
  /// A path as apps write it: names with dots between them.
  ///
  /// - Parameter dotted: such as `address.city`; names that hold a dot or one of `~*/[]` need
  ///   `FieldPath(_:)`.
  /// - Throws: `invalidFieldPath` when a name is empty or holds one of these characters.
  public init(dotted: String) throws(DocumentError) {
    if let character = dotted.unicodeScalars.first(where: { "~*/[]".unicodeScalars.contains($0) }) {
      throw DocumentError(
        .invalidFieldPath,
        "The field path '\(dotted)' has a '\(character)'. Give the names one by one instead.")
    }
    let names = dotted.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard names.allSatisfy({ !$0.isEmpty }) else {
      throw DocumentError(
        .invalidFieldPath,
        "The field path '\(dotted)' has an empty name. It may not begin or end with a dot, and "
          + "has one dot between two names.")
    }
    self.init(unchecked: names.map { String(Substring($0)) })
  }

  /// A path as the service writes it: names that are no identifiers are between back quotes.
  ///
  /// - Parameter canonical: names with a dot between them. Within back quotes `\` stands before a back
  ///   quote and before itself.
  /// - Throws: `invalidFieldPath` when a name is empty, a quote is not closed, or the text ends in `\`.
  public init(canonical: String) throws(DocumentError) {
    func malformed(_ why: String) -> DocumentError {
      DocumentError(
        .invalidFieldPath,
        "The field path '\(canonical)' \(why). Quote names with `, and write \\` within them.")
    }
    var names: [String] = []
    var name: [UInt8] = []
    var isQuoted = false
    var isEscaped = false
    func finish() throws(DocumentError) {
      guard !name.isEmpty else { throw malformed("has an empty name") }
      names.append(String(decoding: name, as: UTF8.self))
      name = []
    }
    for byte in canonical.utf8 {
      if isEscaped {
        name.append(byte)
        isEscaped = false
        continue
      }
      switch byte {
      case UInt8(ascii: "\\"): isEscaped = true
      case UInt8(ascii: "`"): isQuoted.toggle()
      case UInt8(ascii: ".") where !isQuoted: try finish()
      default: name.append(byte)
      }
    }
    if isEscaped { throw malformed("ends in \\") }
    if isQuoted { throw malformed("has a quote that is not closed") }
    try finish()
    self.init(unchecked: names)
  }

  /// The path as the service writes it; `FieldPath(canonical:)` reads it back.
  public var canonical: String { names.map(FieldPath.quoted).joined(separator: ".") }

  private static func quoted(_ name: String) -> String {
    if isIdentifier(name) { return name }
    var text: [UInt8] = [UInt8(ascii: "`")]
    for byte in name.utf8 {
      if byte == UInt8(ascii: "`") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
      text.append(byte)
    }
    text.append(UInt8(ascii: "`"))
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether a name is letters, digits and `_`, and begins with no digit.
  private static func isIdentifier(_ name: String) -> Bool {
    var isFirst = true
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "_"):
        break
      case UInt8(ascii: "0")...UInt8(ascii: "9") where !isFirst: break
      default: return false
      }
      isFirst = false
    }
    return !isFirst
  }
}

extension FieldPath: CustomStringConvertible {
  /// The path as the service writes it.
  public var description: String { canonical }
}
