#if WebSocket
  /// The address of a WebSocket server: the parts of a URL that matter.
  struct WebSocketAddress: Hashable, Sendable {
    /// Whether the connection is encrypted.
    let isSecure: Bool
    /// The host's name or address, without brackets.
    let host: String
    let port: Int

    /// The address of a URL such as `wss://example.com` or `http://localhost:9000?ns=a`; nil for one
    /// that is invalid. Path and query are ignored.
    init?(url: String) {
      guard let separator = url.utf8Range(of: "://") else { return nil }
      switch url[..<separator.lowerBound].lowercased() {
      case "ws", "http": isSecure = false
      case "wss", "https": isSecure = true
      default: return nil
      }
      let rest = url[separator.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      guard let place = Self.parts(authority, isSecure) else { return nil }
      (host, port) = place
    }

    /// The address of a host with or without a port, encrypted if another address is.
    init?(host text: String, like other: WebSocketAddress) {
      isSecure = other.isSecure
      guard let place = Self.parts(text[...], isSecure) else { return nil }
      (host, port) = place
    }

    private static func parts(_ text: Substring, _ isSecure: Bool) -> (String, Int)? {
      var host = text
      var port: Substring?
      if text.first == "[" {
        guard let end = text.firstIndex(of: "]") else { return nil }
        host = text[text.index(after: text.startIndex)..<end]
        let rest = text[text.index(after: end)...]
        if !rest.isEmpty {
          guard rest.first == ":" else { return nil }
          port = rest.dropFirst()
        }
      } else if let colon = text.firstIndex(of: ":") {
        host = text[..<colon]
        port = text[text.index(after: colon)...]
      }
      // These characters would end a header; the resolver checks the rest of the name.
      let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }
      guard !host.isEmpty, isPlain else { return nil }
      guard let port else { return (String(host), isSecure ? 443 : 80) }
      guard let number = Int(port), (1...65_535).contains(number) else { return nil }
      return (String(host), number)
    }

    /// Host and port as a request names them.
    var authority: String {
      let name = host.contains(":") ? "[\(host)]" : host
      return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Whether the host is an address and no name.
    var isNumeric: Bool {
      host.contains(":") || host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") }
    }

    /// The request's path for a database and the last session.
    static func path(namespace: String, lastSession: String?) -> String {
      var path = "/.ws?v=5&ns=" + escaped(namespace)
      if let lastSession { path += "&ls=" + escaped(lastSession) }
      return path
    }

    private static func escaped(_ text: String) -> String {
      var escaped = ""
      for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: "."), UInt8(ascii: "~"):
          escaped.unicodeScalars.append(UnicodeScalar(byte))
        default:
          escaped += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
      }
      return escaped
    }
  }

  extension String {
    fileprivate func utf8Range(of text: String) -> Range<String.Index>? {
      guard let start = utf8.indices.first(where: { utf8[$0...].starts(with: text.utf8) }) else {
        return nil
      }
      return start..<utf8.index(start, offsetBy: text.utf8.count)
    }
  }
#endif
