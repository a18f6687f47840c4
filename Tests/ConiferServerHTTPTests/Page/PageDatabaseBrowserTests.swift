#if Network
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Testing

  /// Databases of documents on the page, in a real browser, against a real server.
  @Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Browser.executable != nil, "no chromium is installed: Scripts/setup --browser"))
  struct PageDatabaseBrowserTests {
    static let database = DatabaseID(project: "p")

    func withPage(
      _ place: String = "#ns=projects/p/databases/(default)",
      _ prepare: (DocumentServer) async throws -> Void,
      _ body: (Page) async throws -> Void
    ) async throws {
      let documents = try DocumentServer()
      try await prepare(documents)
      let server = Server()
      let http = HTTPServer(
        server, HTTPServerConfiguration(port: 0),
        responders: [
          DocumentRESTResponder(documents),
          PageResponder(server, bearers: .administrators, documents: documents),
          RESTResponder(server, RESTConfiguration(bearers: .administrators)),
        ])
      let port = try await http.start()
      let browser = try await Browser()
      do {
        try await browser.open("http://127.0.0.1:\(port)/\(place)")
        try await browser.wait(
          for: "document.querySelector('#state').textContent === 'connected' && S.rows.length > 0")
        try await browser.json("$('tree').querySelector('[tabindex=\"0\"]').focus()")
        try await body(Page(browser: browser, documents: documents))
      } catch {
        await browser.close()
        await http.stop()
        throw error
      }
      await browser.close()
      await http.stop()
      try await documents.close()
    }

    static func commit(
      _ server: DocumentServer, _ documents: [(String, MapValue)]
    ) async throws {
      try await server.commit(
        try documents.map { Mutation(try DocumentPath($0.0), .set($0.1, [])) }, in: database)
    }

    /// A text as a string of a script.
    static func quoted(_ text: String) -> String {
      var writer = JSONWriter()
      writer.string(text)
      return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// A field of each kind.
    private static func kinds() throws -> MapValue {
      [
        "a null": .null, "boolean": .boolean(true), "integer": .integer(.max),
        "double": .double(-0.0), "nan": .double(.nan),
        "timestamp": .timestamp(try Timestamp(rfc3339: "2026-01-31T12:00:00.5Z")),
        "string": .string("Eros"), "bytes": .bytes([1, 2, 255]),
        "reference": .reference(DocumentName(try DocumentPath("rooms/psyche"), in: database)),
        "geopoint": .geoPoint(try GeoPoint(latitude: 52.5, longitude: 13.25)),
        "array": .array([.integer(1), .map(["deep": .integer(7)])]),
        "vector": .vector([0.5, 1]), "map": .map(["inner": .string("x")]),
      ]
    }

    @Test func `Collections, documents and fields of each type are walked by keys, and are live`()
      async throws
    {
      try await withPage { server in
        try await Self.commit(
          server,
          [
            ("rooms/eros", try Self.kinds()), ("rooms/eros/messages/m1", ["text": .string("hi")]),
            ("rooms/gone/messages/m1", [:]), ("users/u1", [:]),
          ])
      } _: { page in
        let browser = page.browser
        #expect(try await browser.json("$('space').value") == #""projects/p/databases/(default)""#)
        #expect(
          try await browser.json("[...$('tabs').children].map((tab) => tab.textContent)")
            == #"["Documents","Query"]"#)
        #expect(try await page.row("/").contains("2 collections"))
        try await page.open("/rooms", "/rooms/eros")
        for (name, words, type) in [
          ("a null", "null", "null"), ("boolean", "true", "boolean"),
          ("integer", "9223372036854775807", "integer"), ("double", "-0", "double"),
          ("nan", "NaN", "double"), ("timestamp", "2026-01-31T12:00:00.5", "timestamp"),
          ("string", #"\"Eros\""#, "string"), ("bytes", "AQL/ (3 B)", "bytes"),
          ("reference", "→ rooms/psyche", "reference"), ("geopoint", "52.5, 13.25", "geopoint"),
          ("array", "[2 values]", "array"), ("vector", "[0.5, 1]", "vector"),
          ("map", "{1 field}", "map"),
        ] {
          let row = try await page.row("/rooms/eros/.\(name)")
          #expect(row.contains(words) && row.hasSuffix("\(type)\""), "\(name): \(row)")
        }
        try await page.open("/rooms/eros/.array", "/rooms/eros/.array/.1")
        #expect(try await page.row("/rooms/eros/.array/.1/.deep").contains("7"))
        try await page.open("/rooms/eros/messages", "/rooms/eros/messages/m1")
        #expect(try await page.row("/rooms/eros/messages/m1/.text").contains("hi"))
        #expect(try await page.row("/rooms/gone").contains("missing document"))
        try await page.open("/rooms/gone", "/rooms/gone/messages")
        try await browser.wait(for: "S.nodes.has('/rooms/gone/messages/m1')")
        try await browser.picture("documents")

        // What another client writes is there by itself, and so are new documents and collections.
        try await page.commit("rooms/eros", ["string": .string("Attic")])
        try await browser.wait(
          for: "S.nodes.get('/rooms/eros/.string').textContent.includes('Attic')")
        #expect(try await page.row("/rooms/eros/.map") == #""""#)
        try await page.commit("rooms/new", [:])
        try await browser.wait(for: "S.nodes.has('/rooms/new')")
        try await page.commit("zoo/z", [:])
        try await browser.wait(for: "S.nodes.has('/zoo')")

        // A path leads to a document.
        try await browser.json("$('path').focus()")
        try await browser.json("$('path').select()")
        try await browser.type("rooms/eros/messages/m1")
        try await browser.press("Enter")
        try await browser.wait(for: "S.nodes.has('/rooms/eros/messages/m1/.text')")
        try await browser.json("$('up').click()")
        try await browser.wait(for: "S.root === '/rooms/eros/messages'")
      }
    }
  }
#endif
