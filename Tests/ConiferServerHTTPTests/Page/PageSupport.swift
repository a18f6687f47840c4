import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferServerHTTP

/// A request of the page itself: same origin, with a token.
func pageRequest(
  _ path: String, _ query: [(name: String, value: String)] = [], method: String = "GET",
  headers: [(name: String, value: String)] = [
    ("host", "localhost:9000"), ("authorization", "Bearer owner"),
  ], body: String = ""
) -> HTTPRequest {
  HTTPRequest(method: method, path: path, query: query, headers: headers, body: Array(body.utf8))
}

extension HTTPResponse {
  /// The body, if it is here whole.
  var text: String {
    if case .bytes(let bytes) = body { return String(decoding: bytes, as: UTF8.self) }
    return ""
  }

  /// The body read as a node; arrays become nodes with numbers for keys.
  func node(at location: SourceLocation = #_sourceLocation) -> Node {
    do {
      return try Node(json: text)
    } catch {
      Issue.record("\(error): \(text)", sourceLocation: location)
      return .empty
    }
  }

  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

extension HTTPResponder {
  /// The answer to a request that is this responder's.
  func answer(
    _ request: HTTPRequest, at location: SourceLocation = #_sourceLocation
  ) async throws -> HTTPResponse {
    try #require(await respond(to: request), sourceLocation: location)
  }

  /// The windows that the page asks for, as the answer has them.
  func windows(
    _ wanted: [(path: String, limit: Int, known: String)], in space: String = "default",
    at location: SourceLocation = #_sourceLocation
  ) async throws -> [Node] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("windows")
    writer.beginArray()
    for window in wanted {
      writer.beginObject()
      writer.key("path")
      writer.string(window.path)
      writer.key("limit")
      writer.integer(Int64(window.limit))
      writer.key("known")
      writer.string(window.known)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    let response = try await answer(
      pageRequest(
        "/.conifer/windows.json", [("space", space)], method: "POST",
        body: String(decoding: writer.bytes, as: UTF8.self)), at: location)
    #expect(response.status == 200, sourceLocation: location)
    return response.node(at: location)["windows" as Key].children.map(\.node)
  }

  /// One window that the page has not yet.
  func window(
    _ path: String, limit: Int = 200, in space: String = "default",
    at location: SourceLocation = #_sourceLocation
  ) async throws -> Node {
    let windows = try await windows([(path, limit, "")], in: space, at: location)
    return try #require(windows.first, sourceLocation: location)["window" as Key]
  }

  /// The rows of a table, cell by cell.
  func rows(
    _ table: String, in space: String = "default", limit: Int = 200,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> [[Node]] {
    let response = try await answer(
      pageRequest(
        "/.conifer/table.json", [("space", space), ("name", table), ("limit", "\(limit)")]),
      at: location)
    #expect(response.status == 200, sourceLocation: location)
    return response.node(at: location)["rows" as Key].children.map { _, row in
      // Cells that are null leave holes.
      (0..<10).map { row[Key("\($0)")] }
    }
  }
}

extension Node {
  /// A leaf's text; the JSON of other nodes.
  var words: String {
    if case .string(let text)? = leaf { return text }
    return String(decoding: json(), as: UTF8.self)
  }

  /// Of a window: its children's keys with what they show.
  var shown: [String] {
    self["children" as Key].children.map { _, child in
      "\(child["key" as Key].words) \(child["type" as Key].words) \(child["text" as Key].words)"
    }
  }
}
