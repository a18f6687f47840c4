import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

// What a request says: its parameters and its body.
extension DocumentRESTResponder.Call {
  // MARK: Parameters

  /// Parameters that every request may have and that change nothing here.
  private static let common: Set<String> = [
    "access_token", "alt", "key", "ns", "oauth_token", "prettyPrint", "quotaUser", "uploadType",
    "upload_protocol",
  ]

  /// Refuses unknown parameters, because a misspelled mask would let a write replace a whole
  /// document. A repeated parameter is refused too, except a field of a mask.
  func checkParameters(_ known: Set<String>) throws(StatusError) {
    var seen: Set<String> = []
    for (name, _) in request.query {
      guard known.contains(name) || Self.common.contains(name) || name.hasPrefix("$") else {
        throw StatusError(
          .invalidArgument, "Nobody knows the parameter \"\(name)\" here. Leave it out.")
      }
      guard seen.insert(name).inserted || name.hasSuffix(".fieldPaths") else {
        throw StatusError(
          .invalidArgument, "The parameter \"\(name)\" is there twice. Leave out one of them.")
      }
    }
  }

  /// The fields that a repeated parameter names; nil when it is not there.
  func mask(_ name: String) throws(StatusError) -> FieldMask? {
    let texts = request.query.filter { $0.name == name }.map(\.value)
    if texts.isEmpty { return nil }
    var paths: [FieldPath] = []
    // A parameter without a value names no field, and still is a mask.
    for text in texts where !text.isEmpty {
      paths.append(
        try parsed(name) { () throws(DocumentError) in try FieldPath(canonical: text) })
    }
    return FieldMask(paths)
  }

  /// The precondition of a write.
  func precondition() throws(StatusError) -> Precondition {
    let exists = request.parameter("currentDocument.exists")
    let time = request.parameter("currentDocument.updateTime")
    switch (exists, time) {
    case (nil, nil): return .none
    case ("true"?, nil): return .exists(true)
    case ("false"?, nil): return .exists(false)
    case (nil, let text?):
      return .updateTime(
        try parsed("currentDocument.updateTime") { () throws(DocumentError) in
          try Timestamp(rfc3339: text)
        })
    case (_?, nil):
      throw StatusError(.invalidArgument, "currentDocument.exists is true or false.")
    case (_?, _?):
      throw StatusError(
        .invalidArgument, "A precondition is currentDocument.exists or .updateTime, not both.")
    }
  }

  /// As of when a request without a body reads.
  func moment() throws(StatusError) -> ReadMoment {
    switch (request.parameter("transaction"), request.parameter("readTime")) {
    case (nil, nil): return .newest
    case (let text?, nil):
      guard let id = Base64.decode(text), !id.isEmpty else {
        throw StatusError(.invalidArgument, "The parameter transaction is no text of base 64.")
      }
      return .transaction(id)
    case (nil, let text?):
      return .past(
        try parsed("readTime") { () throws(DocumentError) in try Timestamp(rfc3339: text) })
    case (_?, _?):
      throw StatusError(.invalidArgument, "A request has a transaction or a readTime, not both.")
    }
  }

  /// A number from 0; nil when the parameter is not there.
  func number(_ name: String) throws(StatusError) -> Int? {
    guard let text = request.parameter(name), !text.isEmpty else { return nil }
    guard let number = Int32(text), number >= 0 else {
      throw StatusError(.invalidArgument, "\(name) is a number from 0.")
    }
    return Int(number)
  }

  /// Where a list goes on; nil for its beginning.
  static func pageToken(_ text: String?) throws(StatusError) -> [UInt8]? {
    guard let text, !text.isEmpty else { return nil }
    if let bytes = Base64.decode(text) { return bytes }
    throw StatusError(.invalidArgument, "The page token is damaged. Send the one of the last page.")
  }

  private func parsed<R>(
    _ name: String, _ body: () throws(DocumentError) -> R
  ) throws(StatusError) -> R {
    do throws(DocumentError) { return try body() } catch {
      throw StatusError(.invalidArgument, "The parameter \(name): \(error.message)")
    }
  }

  // MARK: Body

  /// Reads a body: an object whose members the closure reads; nothing for an empty one.
  ///
  /// - Throws: `invalidArgument` with the place of what is wrong.
  func readBody(
    _ member: (inout DocumentJSONReader, String) throws(JSONError) -> Void
  ) throws(StatusError) {
    if request.body.isEmpty { return }
    var reader = DocumentJSONReader(request.body)
    reader.isStrict = true
    do throws(JSONError) {
      try reader.members("The body") { (reader, key) throws(JSONError) in
        guard key == "database" || key == "parent" else { return try member(&reader, key) }
        let name = try reader.text(key)
        guard name == (key == "database" ? "\(database)" : path.name) else {
          throw reader.refused("The \(key) is not the one of the path. Leave it out.")
        }
      }
      try reader.end()
    } catch { throw StatusError(error) }
  }

  /// Reads a body that is a document.
  func readDocument() throws(StatusError) -> DocumentJSONReader.Typed {
    var reader = DocumentJSONReader(request.body.isEmpty ? Array("{}".utf8) : request.body)
    do throws(JSONError) {
      let document = try reader.document(try reader.next())
      try reader.end()
      return document
    } catch { throw StatusError(error) }
  }
}

/// As of when a request reads, as members of its body say.
struct ReadMomentMembers {
  private(set) var moment = ReadMoment.newest

  /// Takes a member.
  ///
  /// - Returns: whether it is one of these.
  mutating func take(
    _ reader: inout DocumentJSONReader, _ key: String
  ) throws(JSONError) -> Bool {
    guard ["transaction", "newTransaction", "readTime"].contains(key) else { return false }
    guard moment == .newest else {
      throw reader.refused("A request has one of transaction, newTransaction and readTime.")
    }
    switch key {
    case "transaction": moment = .transaction(try reader.bytes(key))
    case "newTransaction": moment = .beginning(try reader.transactionKind())
    default: moment = .past(try reader.time(key))
    }
    return true
  }
}

extension DocumentJSONReader {
  /// Bytes that are not empty, as text of base 64.
  mutating func bytes(_ key: String) throws(JSONError) -> [UInt8] {
    guard let bytes = Base64.decode(try text(key)), !bytes.isEmpty else {
      throw refused("The value of \(key) is text of base 64, and not empty.")
    }
    return bytes
  }

  /// The options of a transaction.
  mutating func transactionKind() throws(JSONError) -> TransactionKind {
    var kinds: [TransactionKind] = []
    try members("The options of a transaction") { (reader, key) throws(JSONError) in
      switch key {
      case "readWrite":
        try reader.members(key) { (reader, key) throws(JSONError) in
          // The transaction that is tried again has ended.
          guard key == "retryTransaction" else { return try reader.unknown(key) }
          _ = try reader.text(key)
        }
        kinds.append(.readWrite)
      case "readOnly":
        var time: Timestamp?
        try reader.members(key) { (reader, key) throws(JSONError) in
          guard key == "readTime" else { return try reader.unknown(key) }
          time = try reader.time(key)
        }
        kinds.append(.readOnly(time))
      default: try reader.unknown(key)
      }
    }
    guard kinds.count <= 1 else { throw refused("A transaction is readOnly or readWrite.") }
    return kinds.first ?? .readWrite
  }
}
