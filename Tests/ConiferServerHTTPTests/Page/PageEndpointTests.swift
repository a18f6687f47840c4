import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferServerHTTP

@Suite struct PageEndpointTests {
  @Test func `The page learns which databases there are`() async throws {
    let server = Server()
    server.set("/a", 1, in: "b")
    server.set("/a", 1, in: "a")
    let page = PageResponder(server, defaultNamespace: "own")
    var facts = try await page.answer(pageRequest("/.conifer/info.json")).node()
    #expect(facts["spaces" as Key] == ["0": "own", "1": "a", "2": "b"])
    // Its own is empty.
    #expect(facts["first" as Key] == "own" && facts["begins" as Key] == "a")
    #expect(facts["writable" as Key] == true)
    server.set("/a", 1, in: "own")
    facts = try await page.answer(pageRequest("/.conifer/info.json")).node()
    #expect(facts["begins" as Key] == "own")
    #expect(facts["/tables/0/name" as Path] == "clients")
  }

  @Test func `The page learns which databases of documents there are, and when one changes`()
    async throws
  {
    let documents = try DocumentServer()
    let responder = PageResponder(Server(), bearers: .administrators, documents: documents)
    func facts() async throws -> Node {
      try await responder.answer(pageRequest("/.conifer/info.json")).node()
    }
    func pulse(_ space: String) async throws -> Node {
      let response = try await responder.answer(
        pageRequest("/.conifer/pulse", [("space", space)]))
      #expect(response.status == 200, "\(space)")
      guard case .stream(let stream) = response.body else { return .empty }
      for await event in stream {
        return try Node(json: String(String(decoding: event, as: UTF8.self).dropFirst(6)))
      }
      return .empty
    }
    #expect(try await facts()["databases" as Key].isEmpty)
    #expect(try await facts()["word" as Key] == "Database")
    let before = try await pulse("projects/q/databases/(default)")
    for (project, database) in [("q", "(default)"), ("p", "two"), ("p", "(default)")] {
      try await documents.commit(
        [Mutation(try DocumentPath("r/a"), .set([:], []))],
        in: DatabaseID(project: project, database: database))
    }
    #expect(
      try await facts()["databases" as Key] == [
        "0": "projects/p/databases/(default)", "1": "projects/p/databases/two",
        "2": "projects/q/databases/(default)",
      ])
    let after = try await pulse("projects/q/databases/(default)")
    #expect(after["version" as Key] != before["version" as Key])
    #expect(after["spaces" as Key] == 3 && before["spaces" as Key].leaf?.number == 0)
    #expect(try await pulse("default")["spaces" as Key] == 3)
    #expect(after["requests" as Key].isEmpty)
    // Without a server of documents there are none, and their names are no namespaces.
    let none = PageResponder(Server(), bearers: .administrators)
    #expect(
      try await none.answer(pageRequest("/.conifer/info.json")).node()["databases" as Key].isEmpty)
    #expect(
      try await none.answer(
        pageRequest("/.conifer/pulse", [("space", "projects/q/databases/(default)")])
      ).status == 400)
    try await documents.close()
  }

  @Test func `A window shows each child with its type, exactly`() async throws {
    let server = Server()
    let long = String(repeating: "é", count: 300)
    server.set(
      "/",
      [
        "text": "a\"b\n<b>", "int": Node(.integer(.max)), "double": Node(.double(0.5)), "yes": true,
        "long": Node(.string(long)), "ranked": Node("x", priority: 5),
        "node": ["k": 1, "l": ["m": 2]],
        "__proto__": 1, "7": "seven", "10": "ten",
      ], in: "default")
    let page = PageResponder(server)
    let window = try await page.window("/")
    #expect(
      window.shown == [
        "7 string seven", "10 string ten", "__proto__ number 1", "double number 0.5",
        "int number 9223372036854775807", "long string " + String(long.prefix(256)),
        "node object null", "ranked string x", "text string a\"b\n<b>", "yes boolean true",
      ])
    let children = window["children" as Key]
    #expect(children["/5/cut" as Path] == true && children["/8/cut" as Path].isEmpty)
    #expect(children["/7/priority" as Path] == "5")
    #expect(children["/6/count" as Path] == 2 && children["/6/leaves" as Path] == 2)
    #expect(window["/item/count" as Path] == 10 && window["more" as Key] == false)
    #expect(try await page.window("/int")["/item/text" as Path] == "9223372036854775807")
    #expect(try await page.window("/none")["/item/type" as Path] == "null")
    #expect(try await page.window("/text/below")["/item/type" as Path] == "null")
  }

  @Test func `A node with many children is shown in part`() async throws {
    let server = Server()
    server.set(
      "/big", Node(children: (0..<6000).map { (Key("k\(10000 + $0)"), 1) }), in: "default")
    let page = PageResponder(server)
    let window = try await page.window("/big")
    #expect(window["children" as Key].childCount == 200 && window["more" as Key] == true)
    #expect(window["/item/count" as Path] == 6000)
    #expect(try await page.window("/big", limit: 5)["children" as Key].childCount == 5)
    #expect(try await page.window("/big", limit: 1 << 40)["children" as Key].childCount == 5000)
    // However much is asked for, an answer is bounded.
    let many = try await page.windows(Array(repeating: ("/big", 5000, ""), count: 600))
    #expect(many.count == 500)
    #expect(
      many.reduce(0) { $0 + $1["/window/children" as Path].childCount } < 21_000)
  }

  @Test func `A window that the page has is sent again only when it changed`() async throws {
    let server = Server()
    server.set("/a/b", 1, in: "default")
    server.set("/c", 1, in: "default")
    let page = PageResponder(server)
    let first = try await page.windows([("/a", 200, ""), ("/c", 200, "")])
    let tags = first.map { $0["tag" as Key].words }
    let again = try await page.windows([("/a", 200, tags[0]), ("/c", 200, tags[1])])
    #expect(again.map { $0["window" as Key].isEmpty } == [true, true])
    server.set("/a/b", 2, in: "default")
    let news = try await page.windows([("/a", 200, tags[0]), ("/c", 200, tags[1])])
    #expect(news.map { $0["window" as Key].isEmpty } == [false, true])
    #expect(news[0]["window" as Key].shown == ["b number 2"])
  }

  @Test(arguments: [
    "", "[", "[1]", "{\"windows\":5}", "{\"windows\":[{\"path\":5,\"limit\":\"x\"}]}",
    "{\"windows\":[{\"path\":\"/\",\"limit\":1e300}]}",
    "{\"windows\":[{\"path\":\"/\",\"limit\":-1e300}]}",
  ])
  func `A request that the page would not make does no harm`(body: String) async throws {
    let response = try await PageResponder(Server()).answer(
      pageRequest("/.conifer/windows.json", method: "POST", body: body))
    #expect([200, 400].contains(response.status))
    let long = try await PageResponder(Server()).answer(
      pageRequest(
        "/.conifer/windows.json", method: "POST", body: String(repeating: " ", count: 1_100_000)))
    #expect(long.status == 413)
  }

  @Test(arguments: ["", "a/b", "../x", "é", String(repeating: "a", count: 101)])
  func `Only a name that a database may have is looked for`(space: String) async throws {
    let server = Server()
    let response = try await PageResponder(server).answer(
      pageRequest("/.conifer/export.json", [("space", space)]))
    #expect(response.status == 400)
    #expect(server.namespaces.isEmpty)
  }

  @Test func `Clients are listed with listens and what is to happen at their end`() async throws {
    let server = Server(
      ServerConfiguration(authenticator: TokenTable(["t": VerifiedToken(uid: "<b>")])))
    let page = PageResponder(server, bearers: .administrators)
    let session = server.connect(to: "default") { _ in }
    let spec = try QuerySpec.default.ordered(byChild: "age").starting(at: 3).limited(toLast: 2)
    session.receive(.request(1, .authenticate(Credential("t"))))
    session.receive(
      .request(2, .listen(QueryTarget("/rooms", spec), tag: 4, hash: "", compound: nil)))
    session.receive(.request(3, .onDisconnectPut("/online", .empty)))
    _ = server.connect(to: "default") { _ in }
    let rows = try await page.rows("clients")
    #expect(rows.map { $0[0] } == [1, 2] && rows.map { $0[1].words } == ["<b>", "nobody"])
    #expect(rows[0][3]["/list/0/path" as Path] == "/rooms")
    #expect(
      rows[0][3]["/list/0/words" as Path]
        == "orderBy age, startAt 3, limitToLast 2, tag 4")
    #expect(rows[0][4]["/list/0" as Path] == ["path": "/online", "words": "remove"])
    #expect(try await page.rows("clients", limit: 1).count == 1)
    let none = try await page.answer(
      pageRequest("/.conifer/table.json", [("name", "queue")]))
    #expect(none.status == 404)
  }

  @Test func `An export loses nothing`() async throws {
    let server = Server()
    let data: Node = ["a": Node("x", priority: "p"), "0": 1, "1": Node(.integer(.min))]
    server.set("/d", data, in: "default")
    let page = PageResponder(server)
    let whole = try await page.answer(pageRequest("/.conifer/export.json", [("path", "/d")]))
    #expect(try Node(json: whole.text) == data)
    #expect(!whole.text.contains("\n"))
    let pretty = try await page.answer(
      pageRequest("/.conifer/export.json", [("path", "/d"), ("pretty", "1")]))
    #expect(pretty.text.contains("\n  \"a\": {"))
  }

  @Test func `The pulse tells at once, and of each change`() async throws {
    let server = Server()
    server.set("/a", 1, in: "default")
    var routes = PageRoutes(
      source: ServerPage(server: server, first: "default"), guardian: PageGuard(),
      isAdministrator: { _ in true })
    routes.pace = .init(look: .milliseconds(1), beat: .seconds(3600))
    let response = try #require(routes.respond(to: pageRequest("/.conifer/pulse")))
    #expect(response.header("content-type") == "text/event-stream; charset=utf-8")
    guard case .stream(let stream) = response.body else {
      Issue.record("The pulse is no stream.")
      return
    }
    var versions: [Node] = []
    for await event in stream {
      let text = String(decoding: event, as: UTF8.self)
      #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
      let pulse = try Node(json: String(text.dropFirst(6)))
      #expect(pulse["requests" as Key].leaf?.number == Double(versions.count + 1))
      versions.append(pulse["version" as Key])
      if versions.count == 3 { break }
      server.set("/a", Node(.integer(Int64(versions.count + 1))), in: "default")
    }
    #expect(versions == [1, 2, 3])
  }
}
