import ConiferKeyValue
import ConiferStorage
import ConiferTree

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
/// brings; and a head, which says which there are and as whom they run. Requests that later ones replaced are left out when
/// they take most of it.
struct DisconnectLog: Sendable {
  /// The numbers of the records.
  private(set) var numbers: Range<Int64> = 0..<0
  private var bytes = 0
  /// The bytes and the records when it was last made anew.
  private var least = (bytes: 0, records: 0)

  /// How many bytes, and how many records, more than twice the least are kept.
  private static let slack = (bytes: 64 * 1024, records: 1000)

  init() {}

  /// A log that was read.
  init(_ numbers: Range<Int64>) { self.numbers = numbers }

  var isEmpty: Bool { numbers.isEmpty }

  /// Adds a request; the record that is stored of it.
  mutating func append(_ change: DisconnectChange, of session: String) -> ServerRecord {
    let record = Self.record(session, numbers.upperBound, change.bytes)
    numbers = numbers.lowerBound..<numbers.upperBound + 1
    bytes += record.bytes?.count ?? 0
    // What it begins with counts as needed.
    if numbers.count == 1 { least = (bytes, 1) }
    return record
  }

  /// Whether it is to be made anew.
  var isBloated: Bool {
    bytes > 2 * least.bytes + Self.slack.bytes
      || numbers.count > 2 * least.records + Self.slack.records
  }

  /// Makes it anew of what is left to be done; the records that are stored then, without the head.
  mutating func renew(_ writes: DisconnectWrites, of session: String) -> [ServerRecord] {
    let gone = numbers.map { Self.record(session, $0, nil) }
    (numbers, bytes) = (numbers.upperBound..<numbers.upperBound, 0)
    let made = writes.units.map { unit in
      append(.write(unit.changes, base: unit.base, isMerge: unit.isMerge), of: session)
    }
    least = (bytes, numbers.count)
    return gone + made
  }

  /// What takes away the records, but those that another log has.
  func removal(of session: String, but kept: DisconnectLog = DisconnectLog()) -> [ServerRecord] {
    numbers.lazy.filter { !kept.numbers.contains($0) }.map { Self.record(session, $0, nil) }
  }

  private static func record(_ session: String, _ number: Int64, _ bytes: [UInt8]?) -> ServerRecord
  {
    let digits = String(number, radix: 16)
    let name = String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    return ServerRecord(name: "\(ServerRecord.disconnect)\(session)/\(name)", bytes: bytes)
  }

  private static let digitCount = 16

  /// The number that the last part of a record's name is; nil for the head, and for what no log names.
  static func number(_ text: some StringProtocol) -> Int64? {
    guard text.utf8.count == digitCount, let number = Int64(text, radix: 16), number >= 0,
      record("", number, nil).name.hasSuffix(text)
    else { return nil }
    return number
  }
}

/// The head of a session's log.
struct DisconnectHead: Sendable {
  let numbers: Range<Int64>
  /// As whom the operations run; nil for nobody.
  let user: VerifiedToken?

  private static let version: UInt8 = 1
  static let name = "head"

  /// The record of a session's head; nothing is stored of an empty log.
  static func record(_ log: DisconnectLog, _ user: VerifiedToken?, of session: String)
    -> ServerRecord
  {
    var bytes: [UInt8]?
    if !log.isEmpty {
      var writer = ByteWriter([version])
      writer.zigzag(log.numbers.lowerBound)
      writer.zigzag(log.numbers.upperBound)
      writer.sized(user.map { WriteContent.set(.root, $0.stored).payload.bytes } ?? [])
      bytes = writer.bytes
    }
    return ServerRecord(name: "\(ServerRecord.disconnect)\(session)/\(name)", bytes: bytes)
  }

  /// The head that some bytes are; nil when they are damaged, or of a later version.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard reader.byte() == Self.version, let first = reader.zigzag(), let next = reader.zigzag(),
      first < next, let token = reader.sized()
    else { return nil }
    numbers = first..<next
    user = token.isEmpty ? nil : VerifiedToken(stored: token)
    if !token.isEmpty, user == nil { return nil }
  }
}

extension VerifiedToken {
  /// The token in a session's head; nil when it cannot be read.
  fileprivate init?(stored bytes: [UInt8]) {
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
