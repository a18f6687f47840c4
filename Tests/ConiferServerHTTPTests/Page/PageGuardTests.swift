import ConiferServer
import ConiferTree
import Testing

@testable import ConiferServerHTTP

@Suite struct PageGuardTests {
  @Test(
    arguments: [
      "localhost", "localhost:9000", "LOCALHOST:1", "demo.localhost:9000", "127.0.0.1",
      "127.0.0.1:9000", "192.168.1.7:80", "[::1]", "[::1]:9000", "[fe80::1]:80", "dev.example:9000",
    ])
  func `The page is served under addresses, localhost and names that were allowed`(host: String) {
    #expect(PageGuard(names: ["Dev.Example"]).allows(host: host))
  }

  @Test(
    arguments: [
      "", "evil.example", "evil.example:9000", "localhost.evil.example", "127.0.0.1.evil.example",
      "127.0.0.1evil", "1.2.3", "256.1.1.1", "1.2.3.4.5", "[evil]", "[::1", "[::1]evil",
      "localhost:x",
      "localhost:1:2", "evillocalhost", "١٢٧.0.0.1", "127.0.0.+1", ".localhost.evil",
    ])
  func `A name that suddenly leads here is not served`(host: String) async throws {
    #expect(!PageGuard().allows(host: host))
    for path in ["/", "/.conifer/info.json"] {
      let response = try await PageResponder(Server()).answer(
        pageRequest(path, headers: [("host", host), ("authorization", "Bearer owner")]))
      #expect(response.status == 403)
      #expect(!response.text.contains("<html"))
    }
  }

  @Test func `The page is served under the names of origins that were allowed`() {
    let page = PageGuard(names: [
      "localhost", "http://Box.lan:8080", "https://[fd00::7]", "*",
    ])
    for host in ["box.lan", "box.lan:9000", "[fd00::7]:9000"] { #expect(page.allows(host: host)) }
    for host in ["null", "evil.example", "x.box.lan"] { #expect(!page.allows(host: host)) }
  }

  @Test(arguments: ["0.0.0.0", "0.0.0.0:9000", "[::]:9000", "[0::0]", "[::ffff:0.0.0.0]"])
  func `The address of no machine is no name, even where it is listened at`(host: String) {
    for names in [[], ["0.0.0.0"], ["::"], ["http://0.0.0.0:9000"]] {
      #expect(!PageGuard(names: names).allows(host: host))
    }
  }

  @Test func `A request without a host is refused`() async throws {
    let response = try await PageResponder(Server()).answer(pageRequest("/", headers: []))
    #expect(response.status == 403)
  }

  @Test(
    arguments: [
      ("origin", "http://evil.example"), ("origin", "null"), ("origin", "http://localhost:5173"),
      ("origin", "http://localhost"), ("origin", "file://"), ("sec-fetch-site", "cross-site"),
      ("sec-fetch-site", "same-site"),
    ])
  func `Another website gets nothing from the endpoints`(
    name: String, value: String
  ) async throws {
    let server = Server()
    server.set("/secret", 1, in: "default")
    let page = PageResponder(server)
    let headers = [
      ("host", "localhost:9000"), ("authorization", "Bearer owner"), (name, value),
    ]
    for path in ["info.json", "pulse", "table.json", "export.json", "none"] {
      let response = try await page.answer(pageRequest("/.conifer/\(path)", headers: headers))
      #expect(response.status == 403)
      #expect(response.header("access-control-allow-origin") == nil)
    }
    let response = try await page.answer(
      pageRequest("/.conifer/windows.json", method: "POST", headers: headers))
    #expect(response.status == 403)
    // A link on another website may lead to the page.
    #expect(try await page.answer(pageRequest("/", headers: headers)).status == 200)
  }

  @Test(arguments: [("origin", "http://LOCALHOST:9000"), ("sec-fetch-site", "same-origin")])
  func `The page itself gets its answers`(name: String, value: String) async throws {
    let response = try await PageResponder(Server()).answer(
      pageRequest(
        "/.conifer/info.json",
        headers: [("host", "localhost:9000"), ("authorization", "Bearer owner"), (name, value)]))
    #expect(response.status == 200)
  }

  @Test(arguments: [nil, "", "Basic b3duZXI=", "Bearer"])
  func `Data is for administrators`(authorization: String?) async throws {
    var headers: [(name: String, value: String)] = [("host", "localhost")]
    if let authorization { headers.append(("authorization", authorization)) }
    let page = PageResponder(Server())
    for path in ["info.json", "pulse", "export.json"] {
      let response = try await page.answer(pageRequest("/.conifer/\(path)", headers: headers))
      #expect(response.status == 401)
    }
  }

  @Test func `A page of this server is one under a name that is its own`() {
    let own = PageGuard()
    #expect(own.isOwn(origin: "http://localhost:9000", host: "localhost:9000"))
    #expect(own.isOwn(origin: "https://[::1]:9000", host: "[::1]:9000"))
    #expect(!own.isOwn(origin: "http://localhost:9001", host: "localhost:9000"))
    #expect(!own.isOwn(origin: "http://evil.example", host: "evil.example"))
  }

  @Test func `Where tokens are checked an administrator's is wanted`() async throws {
    let tokens = TokenTable([
      "ada": VerifiedToken(uid: "ada"), "boss": VerifiedToken(uid: "", isAdmin: true),
    ])
    let page = PageResponder(
      Server(ServerConfiguration(authenticator: tokens)))
    for (token, status) in [("owner", 401), ("ada", 401), ("boss", 200)] {
      let response = try await page.answer(
        pageRequest(
          "/.conifer/info.json",
          headers: [("host", "localhost"), ("authorization", "Bearer \(token)")]))
      #expect(response.status == status)
    }
  }
}
