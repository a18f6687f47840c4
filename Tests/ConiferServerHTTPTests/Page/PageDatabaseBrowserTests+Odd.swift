#if Network
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import TestSupport
  import Testing

  /// What is odd, hostile or large.
  extension PageDatabaseBrowserTests {
    @Test func `Odd ids, names and values are text, run nothing, and are edited in their place`()
      async throws
    {
      let odd = [
        "<img src=x onerror=window.ran=1>", "\"quo'te`\\", "__proto", "a.b", "%2F%", ".dot", "~:x:",
        "\u{202E}right\u{0}", "e\u{301}", "\u{E9}", "\u{1F600}", "constructor", "10", "9",
        "ü?#&=+ ",
      ]
      let long = String(repeating: "w", count: 1400)
      var fields = MapValue.empty
      for name in odd + ["/slash/", long] { fields[name] = .string("<b>\(name)</b>") }
      fields["map"] = .map(["toString": .integer(1), " ": .integer(2), "/": .integer(3)])
      let given = fields
      try await withPage { server in
        try await Self.commit(server, [(#"r/odd"#, given)])
        for id in odd + [long] {
          let path = try #require(DocumentPath(in: try CollectionPath("r"), id: id))
          try await server.commit(
            [Mutation(path, .set(["v": .integer(1)], []))], in: Self.database)
        }
      } _: { page in
        let browser = page.browser
        try await page.open("/r")
        try await browser.wait(
          for: "S.rows.filter((row) => row.level === 2).length === \(odd.count + 2)")
        for id in odd + [long] {
          let path = try #require(DocumentPath(in: try CollectionPath("r"), id: id))
          let quoted = Self.quoted(id)
          try await browser.json("(window.at = '/r/' + idSegment(\(quoted)), choose(window.at), 1)")
          #expect(try await browser.holds("S.nodes.has(window.at)"), "\(id.prefix(40))")
          try await browser.press("ArrowRight")
          try await browser.wait(for: "S.nodes.has(window.at + '/.v')")
          try await browser.json("choose(window.at + '/.v')")
          try await browser.press("F2")
          try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
          try await page.fill("2")
          try await browser.press("Enter")
          try await browser.wait(for: "!S.edit")
          #expect(
            try await page.documents.document(path, in: Self.database)?.fields == [
              "v": .integer(2)
            ], "\(id.prefix(40))")
        }
        try await page.open("/r/odd", "/r/odd/.map")
        for (place, name) in (odd + ["/slash/", long]).map({ ("/r/odd", $0) })
          + ["toString", " ", "/"].map({ ("/r/odd/.map", $0) })
        {
          let quoted = Self.quoted(name)
          try await browser.json(
            "(window.at = '\(place)/' + fieldSegment(\(quoted)), choose(window.at), 1)")
          #expect(try await browser.holds("S.nodes.has(window.at)"), "\(name.prefix(40))")
          try await browser.press("F2")
          try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
          try await page.choose("integer")
          try await page.fill("5")
          try await browser.press("Enter")
          try await browser.wait(for: "!S.edit")
          var found = try await page.fields("r/odd")
          if place.hasSuffix("map"), case .map(let map)? = found?["map"] { found = map }
          #expect(found?[name] == .integer(5), "\(name.prefix(40))")
        }
        #expect(try await page.fields("r/odd")?.count == given.count)
        try await browser.json("$('tab-query').click()")
        try await browser.json("($('q-from').value = 'r', runQuery())")
        try await browser.wait(
          for: "$('q-result').querySelectorAll('.link').length === \(odd.count + 2)")
        #expect(try await browser.holds("window.ran === undefined"))
        #expect(try await browser.holds("!document.querySelector('main img, main b b')"))
        #expect(try await browser.holds("Object.keys(Object.prototype).length === 0"))
      }
    }

    @Test(arguments: [
      "#ns=projects/../../x.json%3Fy%3D", "#ns=projects/p/../../../x.json%3F",
      "#ns=projects/../databases/..", "#ns=projects/p/databases/(default)/x",
      "#ns=projects/p/databases/(default)&path=%252E%252E/%252E%252E/%252E%252E/x.json",
      "#ns=projects/p/databases/(default)&path=a/%252E%252E/%252E/%252E%252E",
    ])
    func `An address that names something else leads nowhere`(place: String) async throws {
      let documents = try DocumentServer()
      let server = Server()
      let asked = Gathered<String>()
      let http = HTTPServer(
        server, HTTPServerConfiguration(port: 0),
        responders: [
          Recorder(asked: asked), DocumentRESTResponder(documents),
          PageResponder(server, bearers: .administrators, documents: documents),
          RESTResponder(server, RESTConfiguration(bearers: .administrators)),
        ])
      let port = try await http.start()
      let browser = try await Browser()
      do {
        try await browser.open("http://127.0.0.1:\(port)/\(place)")
        // It says that it cannot show that.
        try await browser.wait(
          for: "$('state').classList.contains('off') || !$('toast').hidden")
      } catch { Issue.record(error) }
      await browser.close()
      await http.stop()
      #expect(
        asked.all.allSatisfy { $0 == "GET /" || $0.contains(" /.conifer/") },
        "\(asked.all)")
      #expect(server.namespaces.allSatisfy { server.data(in: $0).isEmpty })
      try await documents.close()
    }

    /// Notes what is asked for, and answers nothing.
    private struct Recorder: HTTPResponder {
      let asked: Gathered<String>
      var usesNamespace: Bool { false }

      func respond(to request: HTTPRequest) async -> HTTPResponse? {
        asked.add("\(request.method) \(request.path)")
        return nil
      }
    }

    @Test func `Large documents and long collections have windows, also on a narrow screen`()
      async throws
    {
      let text = String(repeating: "x\u{1F600}", count: 200_000)
      try await withPage { server in
        try await Self.commit(server, [("r/large", ["text": .string(text)])])
        var many = MapValue.empty
        for number in 0..<5_000 { many["f\(10_000 + number)"] = .integer(Int64(number)) }
        try await Self.commit(server, [("r/many", many)])
        for part in 0..<3 {
          try await Self.commit(
            server, (0..<250).map { ("long/\(10_000 + part * 250 + $0)", MapValue.empty) })
        }
      } _: { page in
        let browser = page.browser
        try await page.open("/r", "/r/large", "/r/many", "/long")
        #expect(try await page.row("/r/large/.text").utf8.count < 2_000)
        #expect(try await page.row("/r/many/.more").contains("4,800 more"))
        try await browser.wait(for: "S.nodes.has('/long/10199') && !S.nodes.has('/long/10200')")
        try await browser.json("choose('/long/.more')")
        try await browser.press("Enter")
        try await browser.wait(for: "S.nodes.has('/long/10200') && S.chosen === '/long/10200'")
        // The whole text is edited, and is not lost.
        try await browser.json("choose('/r/large/.text')")
        try await browser.press("F2")
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        #expect(try await browser.holds("document.activeElement.value.length === 600000"))
        try await browser.json("document.activeElement.setSelectionRange(0, 1)")
        try await browser.type("y")
        try await browser.press("Enter")
        try await browser.wait(for: "!S.edit")
        #expect(try await page.fields("r/large")?["text"] == .string("y" + text.dropFirst()))
        try await browser.resize(360, 640)
        for view in ["data", "query"] {
          try await browser.json("(show('\(view)'), 1)")
          if view == "query" { try await browser.json("(addFilter(), addOrder(), 1)") }
          #expect(
            try await browser.holds(
              "document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
            "\(view)")
          try await browser.picture("documents-narrow-\(view)")
        }
      }
    }
  }
#endif
