#if Network
  extension HTTPServer {
    /// The answer to a request, from the first responder that has one.
    func answer(_ request: HTTPRequest) async -> HTTPResponse {
      if request.path == "/.ws" { return refuseWebSocket(request) }
      for responder in responders where !responder.usesNamespace {
        if let response = await responder.respond(to: request) { return response }
      }
      do throws(NamespaceTable.Failure) {
        try await namespaces.begin(request.namespace)
      } catch {
        switch error {
        case .tooMany: return .refusal(503, "The server has too many databases.")
        case .notReady: return .refusal(503, "The database cannot be served now.")
        }
      }
      defer { namespaces.end(request.namespace) }
      for responder in responders where responder.usesNamespace {
        if let response = await responder.respond(to: request) { return response }
      }
      if request.path == "/.lp" {
        return .refusal(501, "Long polling is not supported. Use a WebSocket.")
      }
      return .refusal(404, "There is nothing here.")
    }

    /// The answer to a request that could not become a WebSocket.
    private func refuseWebSocket(_ request: HTTPRequest) -> HTTPResponse {
      let connection = request.headers.filter { $0.name == "connection" }.map(\.value)
      if connection.contains(where: { $0.lowercased().contains("upgrade") }),
        request.header("upgrade")?.lowercased() == "websocket",
        request.parameter("v") ?? "5" == "5", request.header("sec-websocket-version") == "13"
      {
        return .refusal(503, "The database cannot be served now.")
      }
      var response = HTTPResponse.refusal(
        426, "Only WebSockets of the protocol's version 5 are supported.")
      response.headers += [("upgrade", "websocket"), ("sec-websocket-version", "13")]
      return response
    }
  }
#endif
