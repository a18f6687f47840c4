#if GRPC
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A server's host and port, and whether connections to it are encrypted.
  struct GRPCAddress: Hashable, Sendable, CustomStringConvertible {
    /// The host's name or address, without brackets.
    let host: String
    let port: Int
    let isSecure: Bool

    /// An address of a text such as `example.com`, `localhost:8080` or `[::1]:8080`; nil for one that names no host, or
    /// that looks like an IP address and is none.
    init?(_ text: String, isSecure: Bool) {
      self.isSecure = isSecure
      var name = text[...]
      var port: Substring?
      if text.first == "[" {
        guard let end = text.firstIndex(of: "]") else { return nil }
        name = text[text.index(after: text.startIndex)..<end]
        let rest = text[text.index(after: end)...]
        guard rest.isEmpty || rest.first == ":" else { return nil }
        port = rest.isEmpty ? nil : rest.dropFirst()
      } else if let colon = text.firstIndex(of: ":") {
        name = text[..<colon]
        port = text[text.index(after: colon)...]
      }
      // These characters would end a header; the resolver checks the rest of the name.
      let isPlain = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
      guard !name.isEmpty, isPlain else { return nil }
      host = String(name)
      guard Self.isSound(host) else { return nil }
      guard let port else {
        self.port = isSecure ? 443 : 80
        return
      }
      guard let number = Int(port), (1...65_535).contains(number) else { return nil }
      self.port = number
    }

    /// What a host is.
    enum Kind: Sendable {
      case name, ipv4, ipv6
    }

    /// What the host is.
    var kind: Kind { Self.kind(host) }

    private static func kind(_ host: String) -> Kind {
      if host.utf8.contains(UInt8(ascii: ":")) { return .ipv6 }
      let isNumeric = host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
      return isNumeric ? .ipv4 : .name
    }

    /// Whether a host is a name, or an IP address as the system reads it.
    private static func isSound(_ host: String) -> Bool {
      switch kind(host) {
      case .name: return true
      case .ipv4:
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1
      case .ipv6:
        var address = in6_addr()
        return inet_pton(AF_INET6, host, &address) == 1
      }
    }

    /// Host and port, as a URL.
    var description: String {
      let name = kind == .ipv6 ? "[\(host)]" : host
      return "\(isSecure ? "https" : "http")://\(name):\(port)"
    }
  }
#endif
