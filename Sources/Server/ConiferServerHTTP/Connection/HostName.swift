#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The host name or address of a `Host` header, without the port.
struct HostName: Hashable, Sendable {
  private enum Form: Hashable {
    /// In lower case, without a final dot.
    case name(String)
    /// Four bytes, or sixteen.
    case address([UInt8])
  }

  private let form: Form

  /// Reads `name`, `1.2.3.4` or `[::1]`, each with a port or without.
  ///
  /// - Returns: nil for everything else, also for unusual spellings of IPv4 addresses that browsers
  ///   accept, and for the unspecified address (`0.0.0.0`, `[::]`), by which every website can
  ///   reach this machine.
  init?(_ text: String) {
    let text = text.lowercased()[...]
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]"), Self.isPort(text[text.index(after: end)...]),
        let bytes = Self.address(text[text.index(after: text.startIndex)..<end]),
        !Self.isUnspecified(bytes)
      else { return nil }
      form = .address(bytes)
      return
    }
    let name = text.prefix { $0 != ":" }
    guard Self.isPort(text[name.endIndex...]) else { return nil }
    var labels = name.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    if let bytes = Self.numbers(labels) {
      if Self.isUnspecified(bytes) { return nil }
      form = .address(bytes)
      return
    }
    if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
    // Browsers treat a name that ends in a number as an address.
    guard name.utf8.count <= 254, let last = labels.last, labels.allSatisfy(Self.isLabel),
      !last.allSatisfy({ 0x30...0x39 ~= $0 })
    else { return nil }
    form = .name(labels.map { String($0) ?? "" }.joined(separator: "."))
  }

  /// Reads a configured name: also an IPv6 address without brackets, and the host of an origin.
  init?(configured text: String) {
    guard let host = HostName(text) ?? HostName("[\(text)]") ?? HostName(origin: text) else {
      return nil
    }
    self = host
  }

  /// Reads an address as the system writes it: a socket of both families has IPv4 addresses mapped to IPv6.
  init?(address text: String) {
    let mapping = "::ffff:"
    let isMapped = text.lowercased().hasPrefix(mapping) && text.contains(".")
    guard let host = HostName(configured: isMapped ? String(text.dropFirst(mapping.count)) : text)
    else { return nil }
    self = host
  }

  /// The host of an origin, such as `http://app.test:5173`.
  init?(origin: String) {
    let origin = origin.lowercased()
    guard let scheme = ["http://", "https://"].first(where: { origin.hasPrefix($0) }),
      let host = HostName(String(origin.dropFirst(scheme.count)))
    else { return nil }
    self = host
  }

  /// Whether it is `localhost`, a name below it, or a loopback address. No website can have one of
  /// these.
  var isLoopback: Bool {
    switch form {
    case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
    case .address(let bytes):
      bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
  }

  var isAddress: Bool { if case .address = form { true } else { false } }

  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text == ":"
      || text.first == ":" && text.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
        && UInt16(text.dropFirst()) != nil
  }

  private static func isLabel(_ label: Substring.UTF8View) -> Bool {
    (1...63).contains(label.count)
      && label.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  /// Four decimal numbers in the usual form.
  private static func numbers(_ labels: [Substring.UTF8View]) -> [UInt8]? {
    guard labels.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for label in labels {
      guard label.count == 1 || label.first != 0x30, label.allSatisfy({ 0x30...0x39 ~= $0 }),
        let byte = String(label).flatMap({ UInt8($0) })
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// Whether it is the unspecified address, also as an IPv4-mapped IPv6 address.
  private static func isUnspecified(_ bytes: [UInt8]) -> Bool {
    let isMapped = bytes.count == 16 && bytes[10] == 0xFF && bytes[11] == 0xFF
    let rest = isMapped ? bytes[..<10] + bytes[12...] : bytes[...]
    return rest.allSatisfy { $0 == 0 }
  }

  private static func address(_ text: Substring) -> [UInt8]? {
    var address = in6_addr()
    guard inet_pton(AF_INET6, String(text), &address) == 1 else { return nil }
    return withUnsafeBytes(of: &address) { Array($0) }
  }
}
