extension Key {
  /// The most UTF-8 bytes a key, and a whole path with its slashes, may have.
  public static let longest = 768

  /// A key that an app writes.
  ///
  /// - Parameter string: the key's text.
  /// - Throws: `TreeError.invalidKey` when the text is empty, longer than 768 UTF-8 bytes, or
  ///   holds `. # $ [ ] /` or an ASCII control character, as the Realtime Database rules.
  public init(validating string: String) throws(TreeError) {
    self.init(string)
    try validate()
  }

  /// Checks that an app may write this key.
  ///
  /// - Throws: `TreeError.invalidKey`, as `init(validating:)`.
  public func validate() throws(TreeError) {
    let fault = withUTF8 { bytes -> String? in
      if bytes.isEmpty { return "is empty" }
      if bytes.count > Key.longest { return "is longer than \(Key.longest) UTF-8 bytes" }
      return bytes.contains(where: Key.isForbidden)
        ? "holds one of . # $ [ ] / or a control character" : nil
    }
    guard let fault else { return }
    throw TreeError(
      .invalidKey, "The key \"\(string.prefix(80))\" \(fault). Choose another key, or escape it.")
  }

  /// Whether a byte may not occur in a key that an app writes.
  static func isForbidden(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, 0x7F: return true
    case UInt8(ascii: "."), UInt8(ascii: "#"), UInt8(ascii: "$"): return true
    case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "/"): return true
    default: return false
    }
  }
}
