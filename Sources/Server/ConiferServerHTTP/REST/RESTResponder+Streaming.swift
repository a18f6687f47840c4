import ConiferQuery
import ConiferServer
import ConiferTree

extension RESTResponder {
  /// Whether a request asks for events.
  func isStream(_ request: HTTPRequest) -> Bool {
    request.headers.contains { name, value in
      name == "accept"
        && value.split(separator: ",").contains { part in
          part.split(separator: ";").first?.lowercased().filter { $0 != " " } == "text/event-stream"
        }
    }
  }

  /// Answers with events, until either side ends.
  func stream(_ call: Call) async throws(RESTRefusal) -> HTTPResponse {
    if call.parameters.isShallow {
      throw RESTRefusal(400, "shallow is not for event streams.")
    }
    // The same refusals as of a read.
    _ = try find(call)
    let events = try await EventStream.open(
      QueryTarget(call.path, RESTQuery.parse(call.request)), as: call.caller, of: server,
      in: call.namespace, form: call.parameters.form, keepAlive: configuration.keepAlive,
      backlog: configuration.backlog, all: backlogs)
    return HTTPResponse(
      status: 200,
      headers: [
        // Clients decode with this charset.
        ("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"),
      ],
      body: .stream(AsyncStream(unfolding: { await events.next() }, onCancel: { events.stop() })))
  }
}
