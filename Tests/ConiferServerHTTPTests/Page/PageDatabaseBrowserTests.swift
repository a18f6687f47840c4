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

    /// A page of one database of documents.
    struct Page {
      let browser: Browser
      let documents: DocumentServer

      func commit(_ path: String, _ fields: MapValue) async throws {
        try await documents.commit(
          [Mutation(try DocumentPath(path), .set(fields, []))], in: database)
      }

      func fields(_ path: String) async throws -> MapValue? {
        try await documents.document(try DocumentPath(path), in: database)?.fields
      }

      /// What the row of a path shows; empty when there is none.
      func row(_ path: String) async throws -> String {
        try await browser.json("(S.nodes.get('\(path)') || { textContent: '' }).textContent")
      }

      /// Opens nodes, one after the other.
      func open(_ paths: String...) async throws {
        for path in paths {
          try await browser.wait(for: "S.nodes.has('\(path)')")
          try await browser.json("choose('\(path)')")
          try await browser.press("ArrowRight")
          try await browser.wait(for: "S.windows.has('\(path)')")
        }
      }

      /// Returns once the page has read all that it was told of, and chosen what it chooses by itself.
      func settle() async throws {
        try await browser.json("(async () => { await refresh(); await refresh(); return 1; })()")
      }

      /// Edits a field or a document: a type and a text.
      func edit(_ path: String, _ type: String?, _ text: String?) async throws {
        try await settle()
        try await browser.json("choose('\(path)')")
        try await browser.press("F2")
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        if let type { try await choose(type) }
        if let text { try await fill(text) }
        try await browser.press("Enter")
      }

      func choose(_ type: String) async throws {
        try await browser.json(
          """
          (() => { const type = document.querySelector('.editor select'); type.value = '\(type)';
            type.dispatchEvent(new Event('change')); return 1; })()
          """)
      }

      func fill(_ text: String) async throws {
        try await browser.json(
          "(() => { const text = document.querySelector('.editor textarea'); text.focus(); text.value = ''; return 1; })()"
        )
        if !text.isEmpty { try await browser.type(text) }
      }

      var wrong: String {
        get async throws {
          try await browser.json("document.querySelector('.editor output').textContent")
        }
      }
    }

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

    /// Types with what is typed for them, and what that is.
    private static func typed() throws -> [(type: String, text: String, DocumentValue)] {
      [
        ("integer", "-9223372036854775808", .integer(.min)),
        ("integer", "9007199254740993", .integer(9_007_199_254_740_993)),
        ("double", "2.5e3", .double(2500)), ("double", "-Infinity", .double(-.infinity)),
        ("double", "3", .double(3)), ("boolean", "false", .boolean(false)), ("null", "", .null),
        ("string", "Ca<b>fé \u{1F600}\"", .string("Ca<b>fé \u{1F600}\"")),
        (
          "timestamp", "2026-02-01T00:00:00.123456Z",
          .timestamp(try Timestamp(rfc3339: "2026-02-01T00:00:00.123456Z"))
        ),
        ("bytes", "AAEC", .bytes([0, 1, 2])),
        (
          "reference", "users/ada",
          .reference(DocumentName(try DocumentPath("users/ada"), in: database))
        ),
        (
          "geopoint", "-33.9, 151.25",
          .geoPoint(try GeoPoint(latitude: -33.9, longitude: 151.25))
        ),
        ("array", #"[{"integerValue":"1"},{"nullValue":null}]"#, .array([.integer(1), .null])),
        ("vector", "[1, -2.5]", .vector([1, -2.5])),
        (
          "map", #"{"10":{"integerValue":"1"},"9":{"nullValue":null}}"#,
          .map(["10": .integer(1), "9": .null])
        ),
      ]
    }

    @Test func `Each type is edited, and what is none of it is not sent`() async throws {
      try await withPage { server in
        try await Self.commit(server, [("r/a", ["v": .integer(1), "other": .integer(.max)])])
      } _: { page in
        let browser = page.browser
        try await page.open("/r", "/r/a")
        for (type, text, value) in try Self.typed() {
          try await page.edit("/r/a/.v", type, text)
          try await browser.wait(for: "!S.edit")
          #expect(
            try await page.fields("r/a") == ["v": value, "other": .integer(.max)], "\(type) \(text)"
          )
          // What is saved unchanged is the same.
          if type != "null" {
            let before = try await browser.json("D.documents.get('/r/a').time")
            try await page.edit("/r/a/.v", nil, nil)
            try await browser.wait(for: "!S.edit")
            #expect(try await page.fields("r/a")?["v"] == value, "\(type) \(text)")
            #expect(try await browser.json("D.documents.get('/r/a').time") == before)
          }
        }
        let before = try await page.fields("r/a")
        for (type, text) in [
          ("integer", "9223372036854775808"), ("integer", "1.5"), ("double", "1e999"),
          ("double", "two"), ("boolean", "yes"), ("timestamp", "yesterday"), ("bytes", "a b!"),
          ("geopoint", "91"), ("geopoint", "91, 0"), ("reference", "users"), ("vector", "[1,]"),
          ("array", "{}"), ("map", "[]"), ("map", "{"),
        ] {
          try await page.edit("/r/a/.v", type, text)
          try await browser.wait(for: "document.querySelector('.editor output').textContent !== ''")
          #expect(try await page.fields("r/a") == before, "\(type) \(text)")
          try await browser.press("Escape")
          try await browser.wait(for: "!S.edit")
        }
      }
    }

    @Test func `Fields and documents are added and deleted, and deletions undone`() async throws {
      try await withPage { server in
        try await Self.commit(
          server,
          [
            ("r/a", ["map": .map([:]), "list": .array([.integer(1), .integer(2), .integer(3)])]),
            ("r/b/s/c", [:]),
          ])
      } _: { page in
        let browser = page.browser
        func add(_ path: String, _ key: String?, _ type: String?, _ text: String?) async throws {
          try await page.settle()
          try await browser.json("choose('\(path)')")
          try await browser.press("Insert")
          try await browser.wait(for: "S.edit && document.querySelector('.editor')")
          if let type { try await page.choose(type) }
          if let key {
            try await browser.json("(document.querySelector('.editor input').focus(), 1)")
            try await browser.type(key)
          }
          if let text { try await page.fill(text) }
          try await browser.press("Enter")
        }
        try await page.open("/r", "/r/a", "/r/a/.map", "/r/a/.list")
        try await add("/r/a", "size", "integer", "4")
        try await browser.wait(for: "S.chosen === '/r/a/.size'")
        try await add("/r/a/.map", "a.b `c` \\", "string", "odd")
        try await browser.wait(for: "!S.edit")
        try await add("/r/a/.list", nil, "string", "last")
        try await browser.wait(for: "S.chosen === '/r/a/.list/.3'")
        #expect(
          try await page.fields("r/a") == [
            "map": .map(["a.b `c` \\": .string("odd")]), "size": .integer(4),
            "list": .array([.integer(1), .integer(2), .integer(3), .string("last")]),
          ])
        // One that is there is not replaced.
        try await add("/r/a", "size", "string", "other")
        try await browser.wait(for: "document.querySelector('.editor output').textContent !== ''")
        #expect(try await page.wrong.contains("There is such a field"))
        try await browser.press("Escape")
        #expect(try await page.fields("r/a")?["size"] == .integer(4))

        // A value within an array is changed and deleted alone, and comes back.
        try await page.edit("/r/a/.list/.1", nil, "20")
        try await browser.wait(for: "!S.edit")
        try await page.settle()
        try await browser.json("choose('/r/a/.list/.0')")
        try await browser.press("Delete")
        try await browser.wait(for: "!S.nodes.has('/r/a/.list/.3')")
        #expect(
          try await page.fields("r/a")?["list"]
            == .array([.integer(20), .integer(3), .string("last")]))
        try await browser.press("z", control: true)
        try await browser.wait(for: "S.nodes.has('/r/a/.list/.3')")
        let whole = try await page.fields("r/a")
        #expect(
          whole?["list"] == .array([.integer(1), .integer(20), .integer(3), .string("last")]))

        // A document goes and comes back; what is below it stays.
        try await page.settle()
        try await browser.json("choose('/r/a')")
        try await browser.press("Delete")
        try await browser.wait(for: "!S.nodes.has('/r/a')")
        #expect(try await page.fields("r/a") == nil)
        try await browser.press("z", control: true)
        try await browser.wait(for: "S.nodes.has('/r/a')")
        #expect(try await page.fields("r/a") == whole)

        // Documents are made with an id and without, in a new collection, and where one is missing.
        try await add("/r", "made", nil, nil)
        try await browser.wait(for: "S.chosen === '/r/made'")
        #expect(try await page.fields("r/made") == [:])
        try await add("/r", "", nil, #"{"n":{"integerValue":"1"}}"#)
        try await browser.wait(
          for: "!S.edit && S.rows.some((row) => /^.r.[A-Za-z0-9]{20}$/.test(row.path))")
        try await add("/", "new/one", nil, nil)
        try await browser.wait(for: "S.chosen === '/new/one'")
        try await add("/new/one", "below/two", "collection", nil)
        try await browser.wait(for: "S.chosen === '/new/one/below/two'")
        #expect(try await page.fields("new/one/below/two") == [:])
        try await add("/r/b", "n", "integer", "5")
        try await browser.wait(for: "!S.edit")
        #expect(try await page.fields("r/b") == ["n": .integer(5)])

        // A document is edited as a whole.
        try await page.edit("/r/made", nil, #"{"x":{"doubleValue":-0.0}}"#)
        try await browser.wait(for: "!S.edit")
        #expect(try await page.fields("r/made") == ["x": .double(-0.0)])
      }
    }

    @Test func `What somebody else changed is not overwritten, and nothing typed is lost`()
      async throws
    {
      try await withPage { server in
        try await Self.commit(server, [("r/a", ["v": .integer(1), "w": .integer(1)])])
      } _: { page in
        let browser = page.browser
        try await page.open("/r", "/r/a")
        func begin() async throws {
          try await browser.json("choose('/r/a/.v')")
          try await browser.press("F2")
          try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
          try await page.fill("42")
        }
        func save() async throws {
          try await browser.json("(document.querySelector('.editor output').textContent = '', 1)")
          try await browser.press("Enter")
          try await browser.wait(
            for: "!S.edit || document.querySelector('.editor output').textContent !== ''")
        }
        try await begin()
        try await page.commit("r/a", ["v": .integer(7), "w": .integer(2)])
        try await browser.wait(for: "S.nodes.get('/r/a/.v').textContent.includes('7')")
        try await save()
        #expect(try await page.wrong.contains("Somebody changed the document"))
        #expect(try await page.fields("r/a") == ["v": .integer(7), "w": .integer(2)])
        #expect(
          try await browser.json("document.querySelector('.editor textarea').value") == #""42""#)
        try await save()
        #expect(try await page.fields("r/a") == ["v": .integer(42), "w": .integer(2)])

        // The same when the page has not seen the change yet: its requests are held back.
        try await begin()
        try await browser.json("(window.heard = beat, beat = () => {}, 1)")
        try await page.commit("r/a", ["v": .integer(8), "w": .integer(3)])
        try await save()
        #expect(try await page.wrong.contains("Somebody changed the document"))
        #expect(try await page.fields("r/a") == ["v": .integer(8), "w": .integer(3)])
        try await browser.json("(beat = window.heard, 1)")

        // When it was deleted, what was typed is still there, and a second saving makes it anew.
        try await page.documents.commit(
          [Mutation(try DocumentPath("r/a"), .delete)], in: Self.database)
        try await browser.wait(for: "!S.nodes.has('/r/a/.v')")
        #expect(
          try await browser.json("document.querySelector('.editor textarea').value") == #""42""#)
        try await save()
        #expect(try await page.wrong.contains("Somebody deleted the document"))
        try await save()
        #expect(try await page.fields("r/a") == ["v": .integer(42)])

        // A deletion is of what the page shows.
        try await browser.wait(for: "S.nodes.has('/r/a')")
        try await page.open("/r/a")
        try await browser.json("(beat = () => {}, choose('/r/a'), 1)")
        try await page.commit("r/a", ["v": .integer(9)])
        try await browser.press("Delete")
        try await browser.wait(for: "$('toast-words').textContent.includes('just now')")
        #expect(try await page.fields("r/a") == ["v": .integer(9)])
      }
    }

    @Test func `Queries with each operator are run, live, and their errors shown`() async throws {
      try await withPage { server in
        try await Self.commit(
          server,
          [
            ("r/1", ["n": .integer(1), "tags": .array([.string("a")])]),
            ("r/2", ["n": .integer(2), "tags": .array([.string("b")])]),
            ("r/3", ["n": .integer(3), "x": .null]), ("r/4", ["n": .double(.nan)]),
            ("s/1/r/5", ["n": .integer(2)]),
          ])
      } _: { page in
        let browser = page.browser
        try await browser.wait(for: "S.nodes.has('/r')")
        try await browser.json("choose('/r')")
        try await browser.json("$('tab-query').click()")
        #expect(try await browser.json("$('q-from').value") == #""r""#)
        /// Runs a query, and gives the ids of what it finds.
        func run(
          _ filters: [(field: String, operator: String, type: String, value: String)],
          order: (String, String)? = nil, limit: String = "100", group: Bool = false
        ) async throws -> String {
          var script = """
            (async () => { const set = (node, value) => { node.value = value;
              node.dispatchEvent(new Event('change')); };
              $('q-filters').replaceChildren(); $('q-orders').replaceChildren();
              $('q-limit').value = '\(limit)'; $('q-group').checked = \(group);

            """
          for filter in filters {
            let values = [filter.field, filter.operator, filter.type, filter.value]
              .map { $0.replacing("\n", with: "\\n") }
            script += """
              addFilter(); { const inputs = $('q-filters').lastChild.querySelectorAll('input, select, textarea');
                ['\(values[0])', '\(values[1])', '\(values[2])', '\(values[3])'].forEach((value, at) => set(inputs[at], value)); }

              """
          }
          if let order {
            script += """
              addOrder(); { const inputs = $('q-orders').lastChild.querySelectorAll('input, select');
                set(inputs[0], '\(order.0)'); set(inputs[1], '\(order.1)'); }

              """
          }
          script += """
            await runQuery(); return $('q-wrong').textContent
              || [...$('q-result').querySelectorAll('.link')].map((link) => link.textContent).join(' '); })()
            """
          return try await browser.json(script)
        }
        for (field, operation, type, value, found) in [
          ("n", "EQUAL", "integer", "2", "r/2"), ("n", "LESS_THAN", "integer", "2", "r/4 r/1"),
          ("n", "LESS_THAN_OR_EQUAL", "double", "2", "r/4 r/1 r/2"),
          ("n", "GREATER_THAN", "integer", "2", "r/3"),
          ("n", "GREATER_THAN_OR_EQUAL", "integer", "2", "r/2 r/3"),
          ("n", "NOT_EQUAL", "integer", "2", "r/4 r/1 r/3"),
          ("n", "IN", "integer", "1\n3", "r/1 r/3"),
          ("n", "NOT_IN", "integer", "1\n3", "r/4 r/2"),
          ("tags", "ARRAY_CONTAINS", "string", "a", "r/1"),
          ("tags", "ARRAY_CONTAINS_ANY", "string", "a\nb", "r/1 r/2"),
          ("x", "IS_NULL", "string", "", "r/3"), ("n", "IS_NAN", "string", "", "r/4"),
          ("n", "IS_NOT_NAN", "string", "", "r/1 r/2 r/3"),
          ("n", "IS_NOT_NULL", "string", "", "r/4 r/1 r/2 r/3"),
        ] {
          #expect(
            try await run([(field, operation, type, value)]) == "\"\(found)\"",
            "\(field) \(operation) \(value)")
        }
        #expect(
          try await run([], order: ("n", "DESCENDING"), limit: "2") == #""r/3 r/2""#)
        #expect(
          try await run([("n", "EQUAL", "integer", "2")], group: true) == #""r/2 s/1/r/5""#)
        let two = [("n", "EQUAL", "integer", "1"), ("n", "EQUAL", "integer", "3")]
        #expect(try await run(two) == #""""#)
        try await browser.json("$('q-any').value = 'OR'")
        #expect(try await run(two) == #""r/1 r/3""#)
        try await browser.picture("query")
        // What is wrong is said by the page, or by the server.
        for (field, operation, type, value, words) in [
          ("n", "EQUAL", "integer", "two", "digits"), ("", "EQUAL", "integer", "2", "field"),
          ("n", "NOT_IN", "integer", "", "Line"),
        ] {
          let wrong = try await run([(field, operation, type, value)])
          #expect(wrong.contains(words) || !wrong.contains("r/"), "\(wrong)")
          #expect(try await browser.holds("$('q-wrong').textContent !== ''"), "\(operation)")
        }
        // A result that is shown is live.
        try await browser.json("$('q-any').value = 'AND'")
        #expect(try await run([("n", "GREATER_THAN", "integer", "2")]) == #""r/3""#)
        try await page.commit("r/9", ["n": .integer(9)])
        try await browser.wait(for: "$('q-result').textContent.includes('r/9')")
        // A document that was found is shown in the tree.
        try await browser.json("$('q-result').querySelector('.link').click()")
        try await browser.wait(for: "S.view === 'data' && S.nodes.has('/r/3/.n')")
      }
    }
  }
#endif
