import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Logging

/// What a store has of a database besides its data: the rules that were set last, and what sessions left to be done.
struct KeptRecords: Sendable {
  /// The rules that are to be set.
  private(set) var rules: SecurityRules?
  /// The rules file that is stored.
  private(set) var storedRules: [UInt8]?
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
    for name in ServerRecord.rules where storedRules == nil {
      storedRules = try view.metadata(tree, name)
    }
    if configuration.keepsRules, let storedRules {
      do throws(RulesError) { rules = try SecurityRules(json: storedRules) } catch {
        throw StoreError(
          .newerFormat,
          "The rules that are stored with the database cannot be read: \(error). Serve it with the version that "
            + "stored them, or with a file of rules.")
      }
    }
    guard configuration.keepsDisconnects else { return }
    var reading: Reading?
    var last = ServerRecord.disconnect
    func close() {
      guard let read = reading.take() else { return }
      if let session = read.session {
        sessions.append(session)
      } else {
        // It stays as it is: a part of it might do what the session had cancelled.
        configuration.logger.error(
          "onDisconnect operations of a session cannot be read",
          metadata: ["session": "\(read.name)"])
      }
    }
    while true {
      let names = try view.metadataNames(tree, after: last, limit: Self.window)
      for name in names where name.hasPrefix(ServerRecord.disconnect) {
        let parts = name.dropFirst(ServerRecord.disconnect.count).split(separator: "/")
        guard parts.count == 2, let bytes = try view.metadata(tree, name) else { continue }
        if reading?.name != String(parts[0]) {
          close()
          reading = Reading(String(parts[0]))
        }
        reading?.take(bytes, parts[1])
      }
      guard names.count == Self.window, let newest = names.last,
        newest.hasPrefix(ServerRecord.disconnect)
      else { break }
      last = newest
    }
    close()
  }

  /// The records of one session as far as they were read: its requests in order, then its head.
  private struct Reading {
    let name: String
    private var writes = DisconnectWrites()
    private var numbers: Range<Int64>?
    private var head: DisconnectHead?
    private var isWhole = true

    init(_ name: String) { self.name = name }

    mutating func take(_ bytes: [UInt8], _ part: Substring) {
      if part == DisconnectHead.name {
        head = DisconnectHead(bytes)
      } else if let number = DisconnectLog.number(part), number < .max,
        let change = DisconnectChange(bytes), numbers.map({ $0.upperBound == number }) ?? true
      {
        numbers = (numbers?.lowerBound ?? number)..<number + 1
        change.apply(to: &writes)
      } else {
        isWhole = false
      }
    }

    /// Nil when a record is missing or cannot be read.
    var session: LeftSession? {
      guard isWhole, let head, head.numbers == numbers else { return nil }
      return LeftSession(
        name: name, user: head.user, writes: writes, log: DisconnectLog(head.numbers))
    }
  }
}
