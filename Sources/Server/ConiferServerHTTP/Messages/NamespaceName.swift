/// Which database a request is for, by its query and its host.
///
/// A name is 1 to 100 letters, digits, `-` and `_` of ASCII, so that no path can be made of it.
/// Requests may write it with capital letters, which count as small ones.
public enum NamespaceName {
  /// The database of requests that name none.
  public static let `default` = "default"

  /// The name that a request gives.
  ///
  /// - Parameters:
  ///   - parameter: the value of the query's `ns`.
  ///   - host: the `Host` header; of three labels or more the first one counts, as in
  ///     `my-app.firebaseio.com`.
  ///   - other: the database of requests that name none.
  /// - Returns: the name in small letters, or `other` when it is that in letters of any size; nil when
  ///   what is named is no database's name.
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

  /// The first of three labels or more; an address in numbers has none.
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
