/// Which websites of a browser may ask.
///
/// A server on this machine can be reached by every website that is open in a browser here, and a
/// client that is no browser says of itself what it likes: so this keeps websites away, not programs.
struct OriginPolicy: Sendable {
  /// What a browser says of a request; all nil for other clients.
  struct Question {
    var origin: String?
    var host: String?
    /// `Sec-Fetch-Site`.
    var site: String?
    /// `Sec-Fetch-Mode`.
    var mode: String?
  }

  /// The origins that were named; nil for those of this machine.
  private let named: Set<String>?
  /// Whether everything is allowed.
  private let isOpen: Bool
  private let hosts: PageGuard

  /// - Parameters:
  ///   - origins: those that may ask beside the server's own; `*` for all; nil for those of this
  ///     machine.
  ///     The server may be reached under their names too.
  ///   - host: where the server listens.
  init(origins: Set<String>?, host: String) {
    named = origins.map { Set($0.map { $0.lowercased() }) }
    isOpen = origins?.contains("*") == true
    hosts = PageGuard(names: [host] + (origins ?? []).compactMap(Self.name(of:)))
  }

  /// Whether a request may be answered.
  func allows(_ question: Question) -> Bool {
    if isOpen { return true }
    guard question.origin != nil || question.site != nil else { return true }
    // A website whose name suddenly leads to this machine (DNS rebinding) sends its own name.
    guard let host = question.host, hosts.allows(host: host) else { return false }
    guard let origin = question.origin?.lowercased() else {
      // Scripts and pictures of another website; a link that leads here is no harm.
      return question.site != "cross-site" || question.mode == "navigate"
    }
    if hosts.isOwn(origin: origin, host: host) { return true }
    return named?.contains(origin) ?? Self.isLocal(origin)
  }

  /// The value of `Access-Control-Allow-Origin` for an origin that may ask.
  func shared(with origin: String) -> String { isOpen ? "*" : origin }

  /// Whether answers differ by who asks.
  var varies: Bool { !isOpen }

  /// Whether an origin is a page that this machine serves.
  private static func isLocal(_ origin: String) -> Bool {
    guard let name = name(of: origin) else { return false }
    return name == "[::1]" || name == "localhost" || name.hasSuffix(".localhost")
      || name.hasPrefix("127.") && PageGuard().allows(host: name)
  }

  /// The host of an origin, without its port.
  private static func name(of origin: String) -> String? {
    for scheme in ["http://", "https://"] where origin.lowercased().hasPrefix(scheme) {
      let host = origin.dropFirst(scheme.count)
      if host.hasPrefix("[") { return host.firstIndex(of: "]").map { String(host[...$0]) } }
      return String(host.prefix { $0 != ":" })
    }
    return nil
  }
}
