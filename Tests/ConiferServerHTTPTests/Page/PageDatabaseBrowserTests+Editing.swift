#if Network
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Testing

  /// Editing, adding and deleting.
  extension PageDatabaseBrowserTests {
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
          try await page.waitUntilIdle()
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
        try await page.waitUntilIdle()
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
        try await page.waitUntilIdle()
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
  }
#endif
