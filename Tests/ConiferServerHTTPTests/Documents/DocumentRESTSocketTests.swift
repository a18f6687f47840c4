#if Network
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import Testing

  /// Documents at the port of the tree.
  @Suite struct DocumentRESTSocketTests {
    private static let root = "/v1/\(DocumentRESTClient.root)"

    private static func request(
      _ line: String, _ body: String = "", _ headers: String = ""
    ) -> String {
      "\(line) HTTP/1.1\r\nHost: localhost\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test("Documents and the tree are served at one port, to pages of this machine")
    func both() async throws {
      let documents = try DocumentServer()
      let server = Server()
      try await serving(
        server,
        responders: [
          HealthResponder(), DocumentRESTResponder(documents), RESTResponder(server),
        ]
      ) {
        // Documents need no database of the tree.
        $0.prepare = { name in if name == "broken" { throw CancellationError() } }
      } _: { serving in
        let origin = "Origin: http://localhost:5173\r\n"
        let made = try #require(
          try await serving.ask(
            Self.request(
              "PATCH \(Self.root)/r/a?ns=broken", #"{"fields":{"n":{"integerValue":"1"}}}"#, origin)
          ))
        #expect(made.status == 200 && made.text.contains(#""integerValue":"1""#))
        #expect(made.headers["access-control-allow-origin"] == "http://localhost:5173")
        #expect(made.headers["content-type"] == "application/json; charset=utf-8")
        let foreign = try await serving.ask(
          Self.request("DELETE \(Self.root)/r/a", "", "Origin: http://evil.test\r\n"))
        #expect(foreign?.status == 403)
        let preflight = try await serving.ask(
          Self.request(
            "OPTIONS \(Self.root):commit", "",
            origin
              + "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-goog-api-client\r\n"
          ))
        #expect(preflight?.status == 204)
        #expect(preflight?.headers["access-control-allow-headers"] == "x-goog-api-client")
        let query = try await serving.ask(
          Self.request(
            "POST \(Self.root):runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}]}}"#,
            "Content-Type: text/plain\r\n"))
        #expect(query?.status == 200 && query?.text.hasPrefix(#"[{"document""#) == true)
        #expect(
          try await serving.ask(Self.request("PUT /v1/projects.json", "5"))?.text == "5")
        #expect(
          try await serving.ask(Self.request("PUT /x.json?ns=broken", "5"))?.status == 503)
        #expect(serving.http.servedNamespaces == ["default"])
      }
      try await documents.close()
    }

    @Test("Eight clients at once lose no write")
    func many() async throws {
      let documents = try DocumentServer()
      let server = Server()
      try await serving(server, responders: [DocumentRESTResponder(documents)]) { serving in
        await withTaskGroup(of: Void.self) { group in
          for client in 0..<8 {
            group.addTask {
              for _ in 0..<20 {
                let body =
                  #"{"writes":[{"transform":{"document":"\#(DocumentRESTClient.root)/r/n","fieldTransforms":[{"fieldPath":"n","increment":{"integerValue":"1"}}]}}]}"#
                let reply = try? await serving.ask(Self.request("POST \(Self.root):commit", body))
                #expect(reply?.status == 200, "client \(client): \(reply?.text ?? "no answer")")
              }
            }
          }
        }
        let reply = try await serving.ask(Self.request("GET \(Self.root)/r/n"))
        #expect(reply?.text.contains(#""n":{"integerValue":"160"}"#) == true)
      }
      try await documents.close()
    }
  }
#endif
