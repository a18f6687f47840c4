/// Origins, as browsers write them: `http://app.test:5173`.
package enum OriginName {
  /// Whether a text is an origin as browsers write it: a scheme and a host, with a port that is not
  /// the scheme's default and without a path; or `null`, or `*` for all.
  package static func isValid(_ text: String) -> Bool {
    if text == "*" || text == "null" { return true }
    guard let mark = text.firstRange(of: "://") else { return false }
    let scheme = text[..<mark.lowerBound].lowercased()
    guard let first = scheme.utf8.first, 0x61...0x7A ~= first,
      scheme.utf8.allSatisfy(isOfScheme)
    else { return false }
    let host = String(text[mark.upperBound...])
    // Other schemes have hosts of their own kinds.
    guard ["http", "https"].contains(scheme) else {
      return !host.isEmpty && host.utf8.allSatisfy(isOfHost)
    }
    return HostName(host) != nil && !host.hasSuffix(":")
      && !host.hasSuffix(scheme == "http" ? ":80" : ":443")
  }

  private static func isOfScheme(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  private static func isOfHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"): true
    default: false
    }
  }
}
