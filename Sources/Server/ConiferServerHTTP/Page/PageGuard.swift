/// Keeps other websites of the same browser away from the page's endpoints.
///
/// - The `Host` must be an address, `localhost`, a name below it, or a name that was configured: a
///   website whose name suddenly leads to this machine (DNS rebinding) sends its own name.
/// - A browser's `Origin` and `Sec-Fetch-Site` must name this very server.
struct PageGuard: Sendable {
  /// The names that were configured, in small letters.
  private let names: Set<String>

  init(names: [String] = []) { self.names = Set(names.map { $0.lowercased() }) }

  /// Why a request is refused; nil when it is not.
  ///
  /// - Parameter isNavigation: whether the request is for the page itself, which a link of another
  ///   website may lead to.
  func refusal(of request: HTTPRequest, isNavigation: Bool) -> PageRefusal? {
    guard let host = request.header("host"), allows(host: host) else {
      return PageRefusal(
        403,
        "The page is not served under this name. Use localhost or the server's address, or allow "
          + "the name when starting the server.")
    }
    if isNavigation { return nil }
    if let origin = request.header("origin"), !isOwn(origin: origin, host: host) {
      return PageRefusal(403, "Another website may not ask this.")
    }
    if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
      return PageRefusal(403, "Another website may not ask this.")
    }
    return nil
  }

  /// Whether a request with these headers comes from a page of this very server.
  func isOwn(origin: String, host: String) -> Bool {
    let (origin, host) = (origin.lowercased(), host.lowercased())
    return (origin == "http://\(host)" || origin == "https://\(host)") && allows(host: host)
  }

  /// Whether a `Host` header names this machine, with or without a port.
  func allows(host: String) -> Bool {
    let host = host.lowercased()
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return false }
      let address = host[host.index(after: host.startIndex)..<end]
      return address.contains(":") && address.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        && Self.isPort(host[host.index(after: end)...])
    }
    let name = host.prefix { $0 != ":" }
    guard Self.isPort(host[name.endIndex...]) else { return false }
    return name == "localhost" || name.hasSuffix(".localhost") || names.contains(String(name))
      || Self.isAddress(name)
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  private static func isAddress(_ name: Substring) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        part.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } && UInt8(part) != nil
      }
  }
}
