import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire

extension RESTResponder {
  /// Replaces the data at a path, on a condition if there is one.
  func put(_ node: Node, _ call: Call) async throws(RESTRefusal) -> HTTPResponse {
    if call.request.header("if-none-match") != nil {
      throw RESTRefusal(400, "if-none-match is for GET alone.")
    }
    var condition: EntityTag?
    if let header = call.request.header("if-match") {
      condition = EntityTag(header: header)
    }
    let answer = await perform(.put(call.path, node, hash: condition?.hash), call)
    if answer.response.status == .dataStale {
      let node = try current(call)
      return .json(
        node.json(call.parameters.form), status: 412, headers: [("etag", EntityTag(node).text)])
    }
    guard answer.response.status == .ok else { throw RESTRefusal(ofWrite: answer.response) }
    let written = answer.written.first?.node ?? .empty
    // A user who may not read the resolved value gets no ETag of it.
    let hasTag = (condition != nil || wantsTag(call.request)) && !written.hasServerValues
    return reply(call, hasTag ? [("etag", EntityTag(written).text)] : []) { writer in
      written.write(to: &writer, call.parameters.form)
    }
  }

  /// Replaces several places below a path, all or none.
  func patch(_ call: Call) async throws(RESTRefusal) -> HTTPResponse {
    try checkUnconditional(call)
    let changes = try RESTBody.changes(call.request.body)
    var written: [Path: Node] = [:]
    if !changes.isEmpty {
      let answer = await perform(.merge(call.path, changes.map(\.change)), call)
      guard answer.response.status == .ok else { throw RESTRefusal(answer.response) }
      for change in answer.written { written[change.path] = change.node }
    }
    return reply(call) { writer in
      writer.beginObject()
      for (name, change) in changes {
        writer.key(name)
        let node = written[call.path.appending(change.path)] ?? .empty
        node.write(to: &writer, call.parameters.form)
      }
      writer.endObject()
    }
  }

  /// Adds a child with a new name.
  func post(_ call: Call) async throws(RESTRefusal) -> HTTPResponse {
    try checkUnconditional(call)
    let node = try RESTBody.node(call.request.body)
    let key = pushID()
    let answer = await perform(.put(call.path.appending(key), node, hash: nil), call)
    guard answer.response.status == .ok else { throw RESTRefusal(ofWrite: answer.response) }
    return reply(call) { writer in
      writer.beginObject()
      writer.key("name")
      writer.string(key.string)
      writer.endObject()
    }
  }

  private func perform(_ request: Request, _ call: Call) async -> ServerAnswer {
    await server.perform(
      request, as: call.caller, in: call.namespace,
      limit: call.parameters.writeLimit ?? configuration.body)
  }

  /// The data at a path, if it may be read.
  private func current(_ call: Call) throws(RESTRefusal) -> Node {
    let response = server.read(QueryTarget(call.path), as: call.caller, in: call.namespace)
    guard response.status == .ok else { throw RESTRefusal(response) }
    return response.node
  }

  private func checkUnconditional(_ call: Call) throws(RESTRefusal) {
    for name in ["if-match", "if-none-match"] where call.request.header(name) != nil {
      throw RESTRefusal(400, "\(name) is not for \(call.request.method): use GET, PUT or DELETE.")
    }
  }

  private func reply(
    _ call: Call, _ headers: [(name: String, value: String)] = [],
    _ body: (inout JSONWriter) -> Void
  ) -> HTTPResponse {
    if call.parameters.print == .silent { return .empty(204, headers: headers) }
    var writer = JSONWriter(pretty: call.parameters.print == .pretty)
    body(&writer)
    return .json(writer.bytes, headers: headers)
  }
}
