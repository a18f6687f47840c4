import ConiferWire

/// The names of an engine's own entries in the metadata of a database's tree.
enum MetadataName {
  /// Who was signed in last.
  static let user = "conifer.user"
  /// That the user may have changed, and to whom is unknown.
  static let change = "conifer.change"
  /// The newest moment of the server's that is stored.
  static let snapshot = "conifer.snapshot"
  /// An entry that nothing reads. It is stored to see whether the storage works.
  static let trial = "conifer.trial"
  /// The prefix of the names of kept queries.
  static let pinned = "conifer.kept "

  /// The token of a user's stream of writes.
  static func stream(_ identity: String) -> String { name("conifer.stream ", identity) }
  /// A query that is kept up to date, by its target's text.
  static func pinned(_ target: String) -> String { name(pinned, target) }
  /// When the bundle with an id was made.
  static func bundle(_ id: String) -> String { name("conifer.bundle ", id) }
  /// A query that a bundle brought.
  static func query(_ name: String) -> String { self.name("conifer.query ", name) }

  /// The most bytes of a name.
  private static let longest = 256

  /// A name. Its end is replaced by a digest where the name would be too long.
  private static func name(_ start: String, _ end: String) -> String {
    let name = start + end
    guard name.utf8.count > longest else { return name }
    let digest = MD5(end.utf8).words
    let texts = [digest.0, digest.1].map { String($0, radix: 16) }
    return start + "\0" + texts.joined(separator: " ")
  }
}
