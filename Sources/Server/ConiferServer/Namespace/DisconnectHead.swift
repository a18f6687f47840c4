import ConiferKeyValue
import ConiferStorage
import ConiferTree

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
