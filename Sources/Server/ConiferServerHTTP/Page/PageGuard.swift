/// Keeps other websites of the same browser away from the page's endpoints.
///
/// - The `Host` must be an address, `localhost`, a name below it, or a configured name: a website
///   whose name resolves to this machine (DNS rebinding) sends its own name.
/// - A browser's `Origin` and `Sec-Fetch-Site` must name this server.
struct PageGuard: Sendable {
  /// The configured names.
  private let names: Set<HostName>

  init(names: [String] = []) { self.names = Set(names.compactMap(HostName.init(configured:))) }

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
      return PageRefusal(403, "Other websites may not request this.")
    }
    if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
      return PageRefusal(403, "Other websites may not request this.")
    }
    return nil
  }

  /// Whether a request with these headers comes from a page of this server.
  func isOwn(origin: String, host: String) -> Bool {
    let (origin, host) = (origin.lowercased(), host.lowercased())
    return (origin == "http://\(host)" || origin == "https://\(host)") && allows(host: host)
  }

  /// Whether a `Host` header names this machine, with or without a port.
  func allows(host: String) -> Bool {
    guard let host = HostName(host) else { return false }
    return host.isLoopback || host.isAddress || names.contains(host)
  }
}
