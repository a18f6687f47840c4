import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// What a server keeps of a database besides its data, by names within the database's tree.
struct ServerRecord: Hashable, Sendable {
  let name: String
  /// Nil where there is nothing.
  let bytes: [UInt8]?

  /// The rules file that was set last.
  static let rules = "server/rules"
  /// What the names of sessions' onDisconnect requests begin with.
  static let disconnect = "server/disconnect/"

  /// The source of rules.
  static func rules(_ source: [UInt8]?) -> ServerRecord {
    ServerRecord(name: rules, bytes: source)
  }
}

/// A change of a session's onDisconnect operations.
enum DisconnectChange: Sendable {
  /// These are written, in the place of what was to be written at and below them.
  case write([NodeChange], base: Path, isMerge: Bool)
  /// Nothing is written at a path and below it.
  case cancel(Path)

  private static let version: UInt8 = 1
  private static let cancellation: UInt8 = 2

  /// A kind, then the request as the queue keeps a write.
  var bytes: [UInt8] {
    switch self {
    case .write(let changes, let base, let isMerge):
      [Self.version]
        + WriteContent(kind: isMerge ? .update : .set, path: base, changes: changes).payload.bytes
    case .cancel(let path): [Self.cancellation] + WriteContent.set(path, .empty).payload.bytes
    }
  }

  /// The change that some bytes hold; nil when they are damaged, or of a later version.
  init?(_ bytes: [UInt8]) {
    guard let content = WriteContent(bytes: Array(bytes.dropFirst())) else { return nil }
    switch bytes.first {
    case Self.version:
      self = .write(content.changes, base: content.path, isMerge: content.kind == .update)
    case Self.cancellation: self = .cancel(content.path)
    default: return nil
    }
  }

  /// Makes the change.
  func apply(to writes: inout DisconnectWrites) {
    switch self {
    case .write(let changes, let base, let isMerge):
      writes.remember(changes, base: base, isMerge: isMerge)
    case .cancel(let path): writes.forget(path)
    }
  }
}

/// Where a session's onDisconnect requests are stored: each under a number, in their order, so that a request costs what it
/// brings. Requests that later ones replaced are left out when they take most of it.
struct DisconnectLog: Sendable {
  /// The numbers of the records.
  private(set) var numbers: Range<Int64> = 0..<0
  /// Whether it is stored as whom they run.
  var isUserStored = false
  private var bytes = 0
  /// The bytes when it was last made anew.
  private var least = 0

  /// How many bytes more than twice the least are kept.
  private static let slack = 16 * 1024

  var isEmpty: Bool { numbers.isEmpty }

  /// Adds a request; the record that is stored of it.
  mutating func append(_ change: DisconnectChange, of session: String) -> ServerRecord {
    let record = Self.record(session, numbers.upperBound, change.bytes)
    numbers = numbers.lowerBound..<numbers.upperBound + 1
    bytes += record.bytes?.count ?? 0
    return record
  }

  /// Whether it is to be made anew.
  var isBloated: Bool { bytes > 2 * least + Self.slack }

  /// Makes it anew of what is left to be done; the records that are stored then.
  mutating func renew(_ writes: DisconnectWrites, of session: String) -> [ServerRecord] {
    let gone = removal(of: session)
    (numbers, bytes) = (numbers.upperBound..<numbers.upperBound, 0)
    let made = writes.units.map { unit in
      append(.write(unit.changes, base: unit.base, isMerge: unit.isMerge), of: session)
    }
    least = bytes
    return gone + made
  }

  /// The records that take it away.
  func removal(of session: String) -> [ServerRecord] {
    numbers.map { Self.record(session, $0, nil) }
  }

  init() {}

  /// A record was found in the store; in the order of their numbers.
  mutating func found(_ number: Int64) {
    numbers = (numbers.isEmpty ? number : numbers.lowerBound)..<number + 1
  }

  /// It was not made anew, but may have been: the records before stay, and the numbers of the new ones are not used again.
  mutating func keep(_ before: DisconnectLog) {
    let upper = numbers.upperBound
    self = before
    numbers = numbers.lowerBound..<max(upper, numbers.upperBound)
  }

  private static func record(_ session: String, _ number: Int64, _ bytes: [UInt8]?) -> ServerRecord
  {
    let digits = String(number, radix: 16)
    let name = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    return ServerRecord(name: "\(ServerRecord.disconnect)\(session)/\(name)", bytes: bytes)
  }
}

extension ServerRecord {
  /// As whom a session's operations run.
  static func user(_ token: VerifiedToken?, of session: String) -> ServerRecord {
    let bytes = token.map { WriteContent.set(.root, $0.stored).payload.bytes }
    return ServerRecord(name: userName(session), bytes: bytes)
  }

  /// The name of the record of a session's user, which is behind those of its requests.
  static func userName(_ session: String) -> String { "\(disconnect)\(session)/user" }
}

extension VerifiedToken {
  /// The token in a record of a session's user; nil when it cannot be read.
  init?(record bytes: [UInt8]) {
    guard let node = WriteContent(bytes: bytes)?.changes.first?.node,
      case .string(let uid)? = node["uid" as Key].leaf
    else { return nil }
    var expires: Int64?
    if case .integer(let time)? = node["expires" as Key].leaf { expires = time }
    self.init(
      uid: uid, claims: node["claims" as Key], expires: expires,
      isAdmin: node["admin" as Key].leaf == .bool(true),
      variable: node["acts" as Key].isEmpty ? nil : node["variable" as Key])
  }

  /// The token as a node; its parts are apart, whatever names claims have.
  fileprivate var stored: Node {
    var parts: [(Key, Node)] = [("uid", Node(.string(uid))), ("admin", Node(.bool(isAdmin)))]
    if !claims.isEmpty { parts.append(("claims", claims)) }
    if let variable { parts += [("acts", Node(.bool(true))), ("variable", variable)] }
    if let expires { parts.append(("expires", Node(.integer(expires)))) }
    return Node(children: parts.filter { !$0.1.isEmpty })
  }
}
