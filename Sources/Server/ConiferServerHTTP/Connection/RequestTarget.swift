import ConiferTree

/// The path and query of a request line.
struct RequestTarget: Hashable {
  struct Parameter: Hashable {
    let name: String
    let value: String
  }

  /// The host, with its port, of a target that names one.
  let authority: String?
  /// The path as it was sent, from the first slash.
  let path: String
  /// The query's parameters, decoded, in their order.
  let parameters: [Parameter]

  /// Reads `/path?query` or `http://host/path?query`.
  ///
  /// - Returns: nil when it is neither, or the percent-encoded bytes are not UTF-8.
  init?(_ text: String) {
    var rest = text[...]
    if rest.hasPrefix("/") {
      authority = nil
    } else {
      let lowercased = rest.prefix(8).lowercased()
      guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else { return nil }
      rest = rest.dropFirst(lowercased == "https://" ? 8 : 7)
      guard !rest.isEmpty, !rest.hasPrefix("/") else { return nil }
      let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      authority = String(host)
      rest = rest[host.endIndex...]
      if rest.isEmpty { rest = "/" }
      if !rest.hasPrefix("/") { rest = "/\(rest)"[...] }
    }
    rest = rest.prefix { $0 != "#" }
    path = String(rest.prefix { $0 != "?" })
    guard Self.decoded(path[...], plusIsSpace: false) != nil else { return nil }
    var parameters: [Parameter] = []
    for part in rest.dropFirst(path.count + 1).split(separator: "&") {
      let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decoded(pieces[0], plusIsSpace: true),
        let value = Self.decoded(pieces.count > 1 ? pieces[1] : "", plusIsSpace: true)
      else { return nil }
      parameters.append(Parameter(name: name, value: value))
    }
    self.parameters = parameters
  }

  /// The value of the first parameter with a name.
  func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  /// A percent-decoded text; nil when it is not UTF-8.
  private static func decoded(_ text: Substring, plusIsSpace: Bool) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var iterator = text.utf8.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = iterator.next()?.hexDigit, let low = iterator.next()?.hexDigit
        else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
