import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Logging

/// What a store has of a database besides its data: the rules that were set last, and what sessions left to be done.
struct KeptRecords: Sendable {
  private(set) var rules: SecurityRules?
  /// In the order of their names.
  private(set) var sessions: [LeftSession] = []

  /// How many names are read at once.
  private static let window = 1000

  init() {}

  /// Reads them.
  ///
  /// - Throws: `newerFormat` for rules that cannot be read: without them everybody might read and write.
  init(
    _ view: any StorageView, _ tree: TreeID, _ configuration: ServerConfiguration
  ) throws(StoreError) {
    if configuration.keepsRules, let source = try view.metadata(tree, ServerRecord.rules) {
      do throws(RulesError) { rules = try SecurityRules(json: source) } catch {
        throw StoreError(
          .newerFormat,
          "The rules that are stored with the database cannot be read: \(error). Serve it with the version that "
            + "stored them, or with a file of rules.")
      }
    }
    var reading: Reading?
    var last = ServerRecord.disconnect
    while true {
      let names = try view.metadataNames(tree, after: last, limit: Self.window)
      for name in names where name.hasPrefix(ServerRecord.disconnect) {
        let parts = name.dropFirst(ServerRecord.disconnect.count).split(separator: "/")
        guard parts.count == 2, let bytes = try view.metadata(tree, name) else { continue }
        if reading?.name != String(parts[0]) {
          if let reading { sessions.append(reading.session) }
          reading = Reading(String(parts[0]))
        }
        if reading?.take(bytes, Int64(parts[1], radix: 16)) == false {
          // It stays, for the version that can read it.
          configuration.logger.error(
            "an onDisconnect operation cannot be read", metadata: ["record": "\(name)"])
        }
      }
      guard names.count == Self.window, let newest = names.last,
        newest.hasPrefix(ServerRecord.disconnect)
      else { break }
      last = newest
    }
    if let reading { sessions.append(reading.session) }
  }

  /// The records of one session as far as they were read: its requests, then its user.
  private struct Reading {
    let name: String
    private var user: VerifiedToken?
    private var writes = DisconnectWrites()
    private var log = DisconnectLog()

    init(_ name: String) { self.name = name }

    /// Takes a record; false when it cannot be read.
    ///
    /// - Parameter number: the number of a request; nil for the user.
    mutating func take(_ bytes: [UInt8], _ number: Int64?) -> Bool {
      guard let number else {
        user = VerifiedToken(record: bytes)
        return user != nil
      }
      guard let change = DisconnectChange(bytes) else { return false }
      log.found(number)
      change.apply(to: &writes)
      return true
    }

    var session: LeftSession { LeftSession(name: name, user: user, writes: writes, log: log) }
  }
}
