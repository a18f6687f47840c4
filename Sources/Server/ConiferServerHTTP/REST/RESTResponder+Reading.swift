import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire

extension RESTResponder {
  func read(_ call: Call) throws(RESTRefusal) -> HTTPResponse {
    let (request, parameters) = (call.request, call.parameters)
    let isQuery = RESTQuery.isIn(request)
    let node = try find(call)
    try parameters.checkTime()
    guard size(node, parameters) <= configuration.answer else {
      throw RESTRefusal(
        413, "Data requested exceeds the maximum size that can be accessed with a single request.")
    }
    var headers: [(name: String, value: String)] = []
    let known = request.header("if-none-match")
    // A part of the data has no ETag, since a conditional write compares all data at the path.
    if !isQuery, !parameters.isShallow, known != nil || wantsTag(request) {
      let tag = EntityTag(node)
      try parameters.checkTime()
      headers.append(("etag", tag.text))
      if let known, EntityTag(header: known) == tag { return .empty(304, headers: headers) }
    }
    if parameters.print == .silent { return .empty(204, headers: headers) }
    if let name = parameters.download {
      headers.append(("content-disposition", "attachment; filename=\"\(name)\""))
    }
    let bytes = isQuery && node.isEmpty && isBare(call) ? Array("{}".utf8) : body(node, parameters)
    try parameters.checkTime()
    guard let callback = parameters.callback else { return .json(bytes, headers: headers) }
    return try script(callback, bytes, headers, request)
  }

  /// The approximate size of an answer: the data, or only the keys.
  private func size(_ node: Node, _ parameters: RESTParameters) -> Int {
    guard parameters.isShallow, node.childCount > 0 else { return node.estimatedSize }
    return node.children.reduce(2) { $0 + $1.key.utf8Count + 8 }
  }

  /// Whether a query without results is answered with `null` rather than an object. As in the
  /// service, that depends on whether there are children. A user who may not read all of them
  /// always gets an object, which does not reveal that.
  private func isBare(_ call: Call) -> Bool {
    let all = server.read(QueryTarget(call.path), as: call.caller, in: call.namespace)
    return all.status != .ok || all.node.childCount > 0
  }

  /// The data that a request asks for, if it may be read.
  func find(_ call: Call) throws(RESTRefusal) -> Node {
    let spec = try RESTQuery.parse(call.request)
    if call.parameters.isShallow, RESTQuery.isIn(call.request) {
      throw RESTRefusal(400, "Mixing 'shallow' and querying parameters is not supported")
    }
    let target = QueryTarget(call.path, spec)
    let response = server.read(target, as: call.caller, in: call.namespace)
    guard response.status == .ok else { throw RESTRefusal(response) }
    if response.warnings.contains("no_index") { throw RESTRefusal(400, target.missingIndex) }
    return response.node
  }

  func wantsTag(_ request: HTTPRequest) -> Bool {
    request.header("x-firebase-etag")?.lowercased() == "true"
  }

  private func body(_ node: Node, _ parameters: RESTParameters) -> [UInt8] {
    let pretty = parameters.print == .pretty
    guard parameters.isShallow, node.childCount > 0 else {
      return node.json(parameters.form, pretty: pretty)
    }
    var writer = JSONWriter(pretty: pretty)
    writer.beginObject()
    for child in node.children {
      writer.key(child.key.string)
      writer.bool(true)
    }
    writer.endObject()
    return writer.bytes
  }

  /// JSON as a script that calls a function, which pages of other origins may load.
  private func script(
    _ callback: String, _ json: [UInt8], _ headers: [(name: String, value: String)],
    _ request: HTTPRequest
  ) throws(RESTRefusal) -> HTTPResponse {
    // Every page may load scripts, so other origins would get the data here.
    if request.header("sec-fetch-site")?.lowercased() == "cross-site" {
      throw RESTRefusal(403, "Pages of other sites may not load data as scripts.")
    }
    // The leading comment prevents the text from being interpreted as another format.
    let bytes = Array("/**/\(callback)(".utf8) + json + Array(");".utf8)
    return HTTPResponse(
      status: 200,
      headers: [
        ("content-type", "application/javascript; charset=utf-8"), ("cache-control", "no-cache"),
        ("x-content-type-options", "nosniff"),
      ] + headers, body: .bytes(bytes))
  }
}
