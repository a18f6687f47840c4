import ConiferDocument
import ConiferDocumentServer
import ConiferLMDB
import ConiferServerHTTP
import ConiferStorage
import Synchronization
import TestSupport
import Testing

/// The backends that the documents' REST API is tested on: one in memory, and one whose data stays.
enum DocumentTestStore: String, CaseIterable, CustomTestStringConvertible, Sendable {
  case memory, lmdb

  var testDescription: String { rawValue }

  func configuration(_ scratch: Scratch) -> StorageConfiguration {
    switch self {
    case .memory: .memory
    case .lmdb: .lmdb(at: scratch.store, options: StorageOptions(durability: .process))
    }
  }
}

/// Asks the documents' responder as a client would, without a socket, by a clock that stands still.
///
/// In texts `~` stands for `projects/p/databases/(default)/documents`, and `t3` for the time three microseconds after
/// the clock's.
final class DocumentRESTClient: Sendable {
  static let root = "projects/p/databases/(default)/documents"
  private static let start = "2023-11-14T22:13:20"

  let server: DocumentServer
  let responder: DocumentRESTResponder
  /// Only kept: its folder goes with it.
  nonisolated(unsafe) private let scratch: Scratch
  private let clock: Clock

  init(
    _ store: DocumentTestStore = .memory, access: DocumentAccess = .open,
    limits: DocumentRESTLimits = DocumentRESTLimits(),
    bounds: DocumentServerBounds = DocumentServerBounds(),
    history: DocumentHistoryLimits = DocumentHistoryLimits(), on scratch: Scratch? = nil
  ) throws {
    self.scratch = try scratch ?? Scratch()
    let clock = Clock()
    var configuration = DocumentServerConfiguration(
      storage: store.configuration(self.scratch), access: access, history: history,
      clock: { clock.now })
    configuration.bounds = bounds
    server = try DocumentServer(configuration)
    responder = DocumentRESTResponder(server, limits)
    self.clock = clock
  }

  private final class Clock: Sendable {
    private let later = Mutex<Int64>(0)

    var now: Timestamp {
      (try? Timestamp(seconds: 1_700_000_000 + later.withLock { $0 }, nanoseconds: 0)) ?? .zero
    }

    func move(_ seconds: Int64) { later.withLock { $0 += seconds } }
  }

  /// Lets time pass.
  func wait(seconds: Int64) { clock.move(seconds) }

  /// - Parameters:
  ///   - line: the method and the URL behind `documents`, such as `GET /rooms/eros` or `POST :commit`.
  ///   - body: the body's text.
  ///   - token: the bearer's token.
  ///   - root: the documents that are asked for.
  func ask(
    _ line: String, _ body: String = "", token: String? = nil, in root: String = root
  ) async -> RESTReply {
    let parts = line.split(separator: " ", maxSplits: 1)
    return await raw(
      "\(parts[0]) /v1/\(root)\(parts.count > 1 ? parts[1] : "")", body, token: token)
  }

  func raw(_ line: String, _ body: String = "", token: String? = nil) async -> RESTReply {
    var headers: [String: String] = [:]
    if let token { headers["authorization"] = "Bearer \(token)" }
    let request = RESTClient.request(line, Array(Self.long(body).utf8), headers)
    return RESTReply(await responder.respond(to: request))
  }

  /// Expects an answer to a request without a body.
  func expect(
    _ line: String, _ answer: String, _ place: SourceLocation = #_sourceLocation
  ) async {
    await expect(line, "", answer, place)
  }

  /// Expects an answer, in short.
  func expect(
    _ line: String, _ body: String, _ answer: String,
    _ place: SourceLocation = #_sourceLocation
  ) async {
    let reply = await ask(line, body)
    #expect(reply.status == 200, "\(line): \(reply.body)", sourceLocation: place)
    #expect(Self.short(reply.body) == answer, "\(line)", sourceLocation: place)
  }

  /// Expects an error of a request without a body.
  func refuses(
    _ line: String, _ status: Int, _ word: String, _ words: String = "",
    _ place: SourceLocation = #_sourceLocation
  ) async {
    await refuses(line, "", status, word, words, place)
  }

  /// Expects an error.
  func refuses(
    _ line: String, _ body: String, _ status: Int, _ word: String, _ words: String = "",
    _ place: SourceLocation = #_sourceLocation
  ) async {
    let reply = await ask(line, body)
    #expect(reply.status == status, "\(line): \(reply.body)", sourceLocation: place)
    #expect(
      reply.body.contains(#"{"error":{"code":\#(status),"message":""#)
        && reply.body.contains(#","status":"\#(word)"}}"#) && reply.body.contains(words),
      "\(line): \(reply.body)", sourceLocation: place)
  }

  /// Makes documents of plain integers: `["rooms/eros": ["size": 3]]`.
  func make(_ documents: [String: [String: Int64]]) async throws {
    let writes = try documents.sorted { $0.key < $1.key }.map { path, fields in
      Mutation(
        try DocumentPath(path),
        .set(MapValue(fields.map { ($0.key, DocumentValue.integer($0.value)) }), []))
    }
    try await server.commit(writes, in: DatabaseID(project: "p"))
  }

  /// The string behind a key of an answer.
  static func text(_ key: String, _ reply: RESTReply) -> String {
    guard let range = reply.body.firstRange(of: "\"\(key)\":\"") else { return "" }
    return String(reply.body[range.upperBound...].prefix { $0 != "\"" })
  }

  static func long(_ text: String) -> String {
    text.replacing("\"~", with: "\"\(root)").replacing(#/"t(\d+)"/#) { match in
      let digits = String(match.1)
      let zeros = String(repeating: "0", count: max(0, 6 - digits.count))
      return "\"\(start).\(zeros)\(digits)Z\""
    }
  }

  static func short(_ text: String) -> String {
    text.replacing("\"\(root)", with: "\"~").replacing("\"\(start)Z\"", with: "\"t0\"")
      .replacing(#/"2023-11-14T22:13:20\.(\d+)Z"/#) { match in
        let digits = String(match.1)
        let micros = digits + String(repeating: "0", count: max(0, 6 - digits.count))
        return "\"t\(Int(micros) ?? -1)\""
      }
  }
}
