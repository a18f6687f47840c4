/// What a server keeps of a database besides its data, by names within the database's tree.
struct ServerRecord: Hashable, Sendable {
  let name: String
  /// Nil where there is nothing.
  let bytes: [UInt8]?

  /// The rules file that was set last, twice: a damaged record must not open a database to everybody.
  static let rules = ["server/rules", "server/rules-again"]
  /// What the names of sessions' onDisconnect requests begin with.
  static let disconnect = "server/disconnect/"

  /// What the names of a session's records begin with.
  static func prefix(of session: String) -> String { "\(disconnect)\(session)/" }

  /// The source of rules.
  static func rules(_ source: [UInt8]?) -> [ServerRecord] {
    rules.map { ServerRecord(name: $0, bytes: source) }
  }
}
