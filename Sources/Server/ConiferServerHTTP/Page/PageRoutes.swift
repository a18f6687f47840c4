import ConiferKeyValue
import ConiferServer
import ConiferTree
import Synchronization

/// The page and its endpoints, over any source.
struct PageRoutes: Sendable {
  /// How often the stream checks for changes, and how often it sends an event without one.
  struct Pace: Sendable {
    var look = Duration.milliseconds(200)
    var beat = Duration.seconds(1)
  }

  /// The maximum size of a request's body in bytes.
  static let longestBody = 1 << 20

  let source: any PageSource
  let guardian: PageGuard
  let isAdministrator: @Sendable (HTTPRequest) -> Bool
  var pace = Pace()

  /// Answers requests for the page and its endpoints; nil for other paths.
  func respond(to request: HTTPRequest) -> HTTPResponse? {
    let isPage = request.path == "/" || request.path == "/index.html"
    guard isPage || request.path.hasPrefix("/.conifer/") else { return nil }
    if let refusal = guardian.refusal(of: request, isNavigation: isPage) {
      return Self.response(refusal)
    }
    if isPage { return page(request) }
    guard isAdministrator(request) else {
      return Self.response(
        PageRefusal(401, "The page's data is for administrators. Send an administrator's token."))
    }
    do {
      return try endpoint(request)
    } catch let refusal as PageRefusal {
      return Self.response(refusal)
    } catch let error as StoreError {
      return Self.response(
        PageRefusal(500, "\(error.code): \(error.message)"))
    } catch {
      return Self.response(PageRefusal(500, "The request failed."))
    }
  }

  private func page(_ request: HTTPRequest) -> HTTPResponse {
    guard request.method == "GET" || request.method == "HEAD" else {
      return Self.notAllowed("GET, HEAD")
    }
    let nonce =
      String(UInt64.random(in: .min ... .max), radix: 36)
      + String(UInt64.random(in: .min ... .max), radix: 36)
    return HTTPResponse(
      status: 200,
      headers: Self.headers + [
        ("content-type", "text/html; charset=utf-8"),
        (
          "content-security-policy",
          "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; "
            + "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
      ],
      body: .bytes(request.method == "HEAD" ? [] : Array(PageText.html(nonce: nonce).utf8)))
  }

  private func endpoint(_ request: HTTPRequest) throws -> HTTPResponse {
    let name = request.path.dropFirst("/.conifer/".count)
    let method = name == "windows.json" ? "POST" : "GET"
    guard request.method == method || method == "GET" && request.method == "HEAD" else {
      return Self.notAllowed(method)
    }
    let facts = try source.facts()
    let space = request.parameter("space") ?? facts.first
    switch name {
    case "info.json": return Self.json(facts.json)
    case "pulse":
      // Read once now, so that an invalid space is an error rather than a silent stream.
      _ = try source.pulse(of: space)
      return HTTPResponse(
        status: 200, headers: Self.headers + [("content-type", "text/event-stream; charset=utf-8")],
        body: .stream(pulses(of: space)))
    case "windows.json":
      guard request.body.count <= Self.longestBody else {
        throw PageRefusal(413, "The request is too large for the page's endpoints.")
      }
      let wanted = try PageWindow.wanted(request.body)
      return Self.json(PageWindow.json(try source.windows(wanted, in: space), for: wanted))
    case "table.json":
      let limit = min(
        max(1, Int(request.parameter("limit") ?? "") ?? 200), PageWindow.most.children)
      let table = try source.table(request.parameter("name") ?? "", in: space, limit: limit)
      guard let table else { throw PageRefusal(404, "There is no such table.") }
      return Self.json(table.json)
    case "export.json":
      return Self.json(
        try source.export(
          Path(request.parameter("path") ?? ""), in: space,
          pretty: request.parameter("pretty") != nil))
    default: throw PageRefusal(404, "The page has no such endpoint.")
    }
  }

  /// One event at once, then one for each change of the data, and one a second.
  private func pulses(of space: String) -> AsyncStream<[UInt8]> {
    let last = Mutex<(version: Int, at: ContinuousClock.Instant)?>(nil)
    let (source, pace) = (source, pace)
    return AsyncStream {
      while !Task.isCancelled {
        guard let pulse = try? source.pulse(of: space) else { return nil }
        let isDue = last.withLock { last in
          let now = ContinuousClock.now
          if let sent = last, sent.version == pulse.version, now - sent.at < pace.beat {
            return false
          }
          last = (pulse.version, now)
          return true
        }
        if isDue { return Array("data: ".utf8) + pulse.json + Array("\n\n".utf8) }
        do { try await Task.sleep(for: pace.look) } catch { return nil }
      }
      return nil
    }
  }

  // MARK: Answers

  private static let headers: [(name: String, value: String)] = [
    ("cache-control", "no-store"), ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"), ("cross-origin-resource-policy", "same-origin"),
  ]

  static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: headers + [("content-type", "application/json; charset=utf-8")], body: .bytes(bytes))
  }

  static func response(_ refusal: PageRefusal) -> HTTPResponse {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("error", refusal.message)
    writer.endObject()
    return json(writer.bytes, status: refusal.status)
  }

  private static func notAllowed(_ methods: String) -> HTTPResponse {
    var response = response(PageRefusal(405, "Use \(methods) here."))
    response.headers.append(("allow", methods))
    return response
  }
}
