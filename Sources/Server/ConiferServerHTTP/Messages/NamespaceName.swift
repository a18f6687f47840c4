/// The name of the database that a request is for, found in its query or its host.
///
/// A name is 1 to 100 ASCII letters, digits, `-` and `_`, so that it can never become a path. Upper
/// and lower case are equal.
public enum NamespaceName {
  /// The database of requests that name none.
  public static let `default` = "default"

  /// The name in a request.
  ///
  /// - Parameters:
  ///   - parameter: the value of the query's `ns`.
  ///   - host: the `Host` header; with three or more labels the first one is the name, as in
  ///     `my-app.firebaseio.com`.
  ///   - other: the database of requests that name none.
  /// - Returns: the name in lower case, or `other` when it equals that without regard to case; nil
  ///   when the name is invalid.
  public static func name(parameter: String?, host: String?, else other: String) -> String? {
    let name = parameter.flatMap { $0.isEmpty ? nil : $0 } ?? host.flatMap(label) ?? other
    guard isValid(name) else { return nil }
    let small = name.lowercased()
    return small == other.lowercased() ? other : small
  }

  /// Whether a text may be a database's name.
  public static func isValid(_ name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// The first of three or more labels; nil for a numeric address.
  private static func label(_ host: String) -> String? {
    if host.hasPrefix("[") { return nil }
    let labels = host.prefix { $0 != ":" }.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count >= 3, let first = labels.first else { return nil }
    if labels.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) {
      return nil
    }
    return String(first)
  }
}
