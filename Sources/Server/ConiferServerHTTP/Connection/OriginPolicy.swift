/// Under which names a server answers, and to which websites of a browser.
///
/// A server on this machine can be reached by every website that is open in a browser here, and by one
/// whose name suddenly leads to this machine (DNS rebinding); a browser does not always say which
/// website asks. A client that is no browser says of itself what it likes: so this keeps websites
/// away, not programs.
struct OriginPolicy: Sendable {
  /// What a request says of where it goes, and of where it comes from.
  struct Question {
    /// Whether it came by the loopback.
    var isLoopback = true
    /// Whether it has to have a `Host`: not in HTTP/1.0.
    var needsHost = true
    /// All its `Host` headers.
    var hosts: [String] = []
    /// The host of a target such as `http://host/path`.
    var authority: String?
    /// The next ones are what a browser may say; all nil for other clients.
    var origin: String?
    /// `Sec-Fetch-Site`.
    var site: String?
    /// `Sec-Fetch-Mode`.
    var mode: String?
  }

  enum Verdict {
    case allowed
    /// It says where it goes twice, or not at all.
    case malformed
    /// The server has no such name.
    case foreignHost
    /// It is another website's.
    case foreignOrigin
  }

  /// The origins that were named; nil for those of this machine.
  private let named: Set<String>?
  /// Whether everything is allowed.
  private let isOpen: Bool
  /// The names that were given to the server.
  private let names: Set<HostName>

  /// - Parameters:
  ///   - origins: those that may ask beside the server's own; `*` for all, under every name; nil for
  ///     those of this machine. The server may be reached under their names too.
  ///   - host: where the server listens.
  init(origins: Set<String>?, host: String) {
    named = origins.map { Set($0.map { $0.lowercased() }) }
    isOpen = origins?.contains("*") == true
    names = Set(
      [HostName(configured: host)].compactMap(\.self)
        + (origins ?? []).compactMap(HostName.init(origin:)))
  }

  /// Whether a request may be answered.
  func verdict(_ question: Question) -> Verdict {
    guard question.hosts.count == 1 || question.hosts.isEmpty && !question.needsHost else {
      return .malformed
    }
    if isOpen { return .allowed }
    let isBrowser = question.origin != nil || question.site != nil
    guard question.isLoopback || isBrowser else { return .allowed }
    let said = question.hosts + [question.authority].compactMap(\.self)
    guard let host = said.last, said.allSatisfy({ isOwn($0, question.isLoopback) }) else {
      return .foreignHost
    }
    guard isBrowser else { return .allowed }
    guard let origin = question.origin?.lowercased() else {
      // Scripts and pictures of another website; a link that leads here is no harm.
      let isForeign = question.site == "cross-site" && question.mode != "navigate"
      return isForeign ? .foreignOrigin : .allowed
    }
    let own = ["http://\(host)", "https://\(host)"].map { $0.lowercased() }
    if own.contains(origin) { return .allowed }
    let isAllowed = named?.contains(origin) ?? (HostName(origin: origin)?.isLoopback == true)
    return isAllowed ? .allowed : .foreignOrigin
  }

  /// The value of `Access-Control-Allow-Origin` for an origin that may ask.
  func shared(with origin: String) -> String { isOpen ? "*" : origin }

  /// Whether answers differ by who asks.
  var varies: Bool { !isOpen }

  /// Whether a `Host` is one of the server's. Over the network an address is: no website has another
  /// one's. Behind the loopback it is not, as other addresses may lead there too, such as `0.0.0.0`.
  private func isOwn(_ text: String, _ isLoopback: Bool) -> Bool {
    guard let host = HostName(text) else { return false }
    return host.isLoopback || names.contains(host) || !isLoopback && host.isAddress
  }
}
