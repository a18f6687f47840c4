/// The host names under which a server answers, and the websites to which it answers.
///
/// Every website that is open in a browser on this machine can reach the server, also under its own
/// name when that resolves to this machine (DNS rebinding), and a browser does not always name the
/// website. A program can send any headers: so this policy protects against websites, not against
/// programs.
struct OriginPolicy: Sendable {
  /// The headers of a request that name its destination and its origin.
  struct Question {
    /// Whether it arrived over the loopback.
    var isLoopback = true
    /// Whether it must have a `Host`; not in HTTP/1.0.
    var needsHost = true
    /// All its `Host` headers.
    var hosts: [String] = []
    /// The host of a target such as `http://host/path`.
    var authority: String?
    /// The next properties are headers of browsers; all are nil for other clients.
    var origin: String?
    /// `Sec-Fetch-Site`.
    var site: String?
    /// `Sec-Fetch-Mode`.
    var mode: String?
  }

  enum Verdict {
    case allowed
    /// It names its host twice, or not at all.
    case malformed
    /// The server has no such name.
    case foreignHost
    /// It comes from another website.
    case foreignOrigin
  }

  /// The configured origins; nil for those of this machine.
  private let named: Set<String>?
  /// Whether everything is allowed.
  private let isOpen: Bool
  /// The server's configured names.
  private let names: Set<HostName>

  /// - Parameters:
  ///   - origins: the origins that may send requests besides the server's own; `*` for all, under
  ///     every name; nil for those of this machine. The server also answers under their names.
  ///   - host: the host at which the server listens.
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
      // Scripts and pictures loaded by another website; a link to this server is harmless.
      let isForeign = question.site == "cross-site" && question.mode != "navigate"
      return isForeign ? .foreignOrigin : .allowed
    }
    let own = ["http://\(host)", "https://\(host)"].map { $0.lowercased() }
    if own.contains(origin) { return .allowed }
    let isAllowed = named?.contains(origin) ?? (HostName(origin: origin)?.isLoopback == true)
    return isAllowed ? .allowed : .foreignOrigin
  }

  /// The value of `Access-Control-Allow-Origin` for an allowed origin.
  func shared(with origin: String) -> String { isOpen ? "*" : origin }

  /// Whether answers depend on the origin.
  var varies: Bool { !isOpen }

  /// Whether a `Host` is one of the server's. Over the network any address is, since no website can
  /// have an address as its name. Over the loopback it is not, as other addresses such as `0.0.0.0`
  /// may lead there too.
  private func isOwn(_ text: String, _ isLoopback: Bool) -> Bool {
    guard let host = HostName(text) else { return false }
    return host.isLoopback || names.contains(host) || !isLoopback && host.isAddress
  }
}
