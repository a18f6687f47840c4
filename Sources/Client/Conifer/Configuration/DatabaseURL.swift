import ConiferTree
import Foundation

/// A database's URL, and a place in it.
struct DatabaseURL: Equatable, Sendable {
  /// Whether the scheme is `https` or `wss`.
  let isSecure: Bool
  /// Host and port, in lower case.
  let host: String
  /// The database's name: `?ns=`, or else the host's first label.
  let namespace: String
  /// The place, percent-decoded; not checked.
  let path: Path

  /// Reads a URL, by the rules of the Realtime Database's clients.
  ///
  /// - Throws: `invalidURL`.
  init(_ text: String) throws(DatabaseError) {
    guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
      ["http", "https", "ws", "wss"].contains(scheme), let name = url.host, !name.isEmpty
    else { throw Self.invalid(text) }
    let host = name.lowercased()
    let named = url.queryItems?.first { $0.name == "ns" }?.value
    let label = host.split(separator: ".").first.map(String.init) ?? host
    isSecure = scheme == "https" || scheme == "wss"
    self.host = url.port.map { "\(host):\($0)" } ?? host
    namespace = (named.flatMap { $0.isEmpty ? nil : $0 } ?? label).lowercased()
    // Segment by segment, so that an escaped slash is refused as a key rather than taken for one.
    var keys: [Key] = []
    for segment in url.percentEncodedPath.split(separator: "/") {
      let plain = segment.replacingOccurrences(of: "+", with: " ")
      guard let key = plain.removingPercentEncoding else { throw Self.invalid(text) }
      keys.append(Key(key))
    }
    path = Path(keys)
  }

  /// The URL of a place.
  static func text(_ configuration: DatabaseConfiguration, _ path: Path) -> String {
    let (host, namespace) = (configuration.host, configuration.namespace)
    var text = (configuration.isSecure ? "https://" : "http://") + host
    for key in path.keys {
      text += "/" + (key.string.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? "")
    }
    if host.split(separator: ".").first.map(String.init) != namespace {
      let query = namespace.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? namespace
      text += (path.isRoot ? "/?ns=" : "?ns=") + query
    }
    return text
  }

  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~:!@")

  private static func invalid(_ text: String) -> DatabaseError {
    DatabaseError(
      .invalidURL, "\"\(text.prefix(200))\" is no database's URL.",
      remedy: "Write it like https://my-app.example.com/path.")
  }
}
