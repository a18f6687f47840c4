#if Network
  import ConiferKeyValue
  import ConiferQuery
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import ConiferTree
  import ConiferWire
  import Testing

  /// The page in a real browser, against a real server.
  @Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Browser.executable != nil, "no chromium is installed: Scripts/setup --browser"))
  struct PageBrowserTests {
    /// Serves, opens the page, and waits until it is connected.
    func withPage(
      _ server: Server, _ responders: [any HTTPResponder], _ place: String = "",
      _ body: (Browser) async throws -> Void
    ) async throws {
      let http = HTTPServer(server, HTTPServerConfiguration(port: 0), responders: responders)
      let port = try await http.start()
      let browser = try await Browser()
      do {
        try await browser.open("http://127.0.0.1:\(port)/\(place)")
        try await browser.wait(
          for: "document.querySelector('#state').textContent === 'connected' && S.rows.length > 0")
        try await browser.json("$('tree').querySelector('[tabindex=\"0\"]').focus()")
        try await body(browser)
      } catch {
        await browser.close()
        await http.stop()
        throw error
      }
      await browser.close()
      await http.stop()
    }

    func responders(_ server: Server) -> [any HTTPResponder] {
      [PageResponder(server), RESTResponder(server)]
    }

    /// What the row of a path shows; empty when there is none.
    func row(_ browser: Browser, _ path: String) async throws -> String {
      try await browser.json("(S.nodes.get('\(path)') || { textContent: '' }).textContent")
    }

    @Test func `The tree is live, and walked and changed by keys alone`() async throws {
      let server = Server()
      server.set(
        "/rooms", ["r1": ["name": "Kitchen", "size": Node(.integer(.max))], "r2": "leaf"],
        in: "default")
      server.set("/ranked", Node("old", priority: 7), in: "default")
      try await withPage(server, responders(server)) { browser in
        // A letter leads to a key, arrows move, open and close.
        try await browser.press("r")
        #expect(try await browser.json("S.chosen") == #""/ranked""#)
        try await browser.press("ArrowDown")
        try await browser.press("ArrowRight")
        try await browser.wait(for: "S.nodes.has('/rooms/r1')")
        try await browser.press("ArrowRight")
        try await browser.press("ArrowRight")
        try await browser.wait(for: "S.nodes.has('/rooms/r1/name')")
        #expect(try await browser.json("S.chosen") == #""/rooms/r1""#)
        #expect(try await row(browser, "/rooms/r1/size") == #""size:9223372036854775807""#)
        try await browser.press("ArrowRight")
        #expect(try await browser.json("S.chosen") == #""/rooms/r1/name""#)
        #expect(try await browser.holds("document.activeElement === S.nodes.get(S.chosen)"))

        // What another client writes is there by itself.
        server.set("/rooms/r1/name", "Attic", in: "default")
        try await browser.wait(for: "S.nodes.get('/rooms/r1/name').textContent.includes('Attic')")

        // Enter edits, Escape leaves, Enter saves.
        for keys in [["Enter", "Escape"], ["Enter"]] {
          for key in keys { try await browser.press(key) }
        }
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        try await browser.type("Ca<b>fé \u{1F600}\"")
        try await browser.press("Enter")
        try await browser.wait(for: "!S.edit")
        #expect(server.data("/rooms/r1/name", in: "default") == "Ca<b>fé \u{1F600}\"")
        #expect(try await browser.holds("document.activeElement === S.nodes.get('/rooms/r1/name')"))

        // A number keeps all its digits; what is none is not sent.
        try await browser.press("ArrowDown")
        try await browser.press("F2")
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        try await browser.type("12x")
        try await browser.press("Enter")
        try await browser.wait(for: "document.querySelector('.editor output').textContent !== ''")
        try await browser.json("document.activeElement.select()")
        try await browser.type("9223372036854775806")
        try await browser.press("Enter")
        try await browser.wait(for: "!S.edit")
        #expect(
          server.data("/rooms/r1/size", in: "default").leaf.map { "\($0)" }
            == "\(Leaf.integer(.max - 1))")

        // A replaced value keeps its priority.
        try await browser.json("choose('/ranked')")
        try await browser.press("Enter")
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        try await browser.type("new")
        try await browser.press("Enter")
        try await browser.wait(for: "!S.edit")
        #expect(server.data("/ranked", in: "default") == Node("new", priority: 7))

        // A child is added; one that is there is not replaced.
        try await browser.json("choose('/rooms')")
        try await browser.press("Insert")
        try await browser.wait(for: "document.activeElement.tagName === 'INPUT'")
        try await browser.type("r2")
        try await browser.press("Enter")
        try await browser.wait(for: "document.querySelector('.editor output').textContent !== ''")
        #expect(server.data("/rooms/r2", in: "default") == "leaf")
        try await browser.type("x")
        try await browser.press("Enter")
        try await browser.wait(for: "S.chosen === '/rooms/r2x'")
        #expect(server.data("/rooms/r2x", in: "default") == "")

        // What is deleted comes back with its priorities.
        let before = server.data("/rooms", in: "default")
        try await browser.json("choose('/rooms')")
        try await browser.press("Delete")
        try await browser.wait(for: "!S.nodes.has('/rooms')")
        #expect(server.data("/rooms", in: "default").isEmpty)
        try await browser.press("z", control: true)
        try await browser.wait(for: "S.nodes.has('/rooms')")
        #expect(server.data("/rooms", in: "default") == before)

        // Everything at once is asked about first.
        try await browser.wait(for: "S.rows.some((row) => row.id === S.chosen)")
        try await browser.press("Home")
        try await browser.wait(for: "S.chosen === '/'")
        try await browser.press("Delete")
        try await browser.wait(for: "$('dialog').open")
        try await browser.press("Escape")
        try await browser.wait(for: "!$('dialog').open")
        #expect(!server.data(in: "default").isEmpty)
      }
    }

    @Test func `Data is exported, imported and edited as JSON`() async throws {
      let server = Server()
      let rooms: Node = ["r1": ["name": Node("Kitchen", priority: 3), "seats": 4]]
      server.set("/rooms", rooms, in: "default")
      try await withPage(server, responders(server), "#path=/") { browser in
        try await browser.wait(for: "S.rows.some((row) => row.id === '/rooms')")
        // What a browser would save is looked at instead.
        try await browser.json(
          "URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:none'; }, 1")
        try await browser.json("choose('/rooms')")
        try await browser.json("$('export').click()")
        try await browser.wait(for: "window.saved")
        let saved = try await browser.json("window.saved.text().then((text) => JSON.parse(text))")
        #expect(try Node(json: saved) == rooms)

        // A file takes the place of all that is there, once that was asked about.
        for answer in ["no", "yes"] {
          try await browser.json(
            """
            (() => { const list = new DataTransfer();
              list.items.add(new File(['{"r2":{".value":"Attic",".priority":1}}'], 'rooms.json'));
              $('file').files = list.files;
              $('file').dispatchEvent(new Event('change')); return 1; })()
            """)
          try await browser.wait(for: "$('dialog').open")
          if answer == "yes" { try await browser.picture("import") }
          try await browser.json("$('\(answer)').click()")
          // The dialog has gone when the tree has the focus again.
          try await browser.wait(
            for: "!$('dialog').open && $('tree').contains(document.activeElement)")
          if answer == "no" { #expect(server.data("/rooms", in: "default") == rooms) }
        }
        try await browser.wait(for: "S.nodes.has('/rooms/r2')")
        #expect(server.data("/rooms", in: "default") == ["r2": Node("Attic", priority: 1)])

        // A node is edited as text; what is no JSON is not sent.
        try await browser.json("choose('/rooms')")
        try await browser.json("$('edit').click()")
        try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
        #expect(try await browser.holds("document.activeElement.value.includes('.priority')"))
        try await browser.type(#"{"r3":"#)
        try await browser.press("Enter")
        try await browser.wait(
          for: "document.querySelector('.editor output').textContent.startsWith('No JSON')")
        try await browser.json("document.activeElement.select()")
        try await browser.type(#"{"r3":{"seats":2}}"#)
        try await browser.picture("edit")
        try await browser.press("Enter")
        try await browser.wait(for: "!S.edit")
        #expect(server.data("/rooms", in: "default") == ["r3": ["seats": 2]])
      }
    }

    @Test func `A file that is dropped on a node goes there, once that was asked about`()
      async throws
    {
      let server = Server()
      server.set("/rooms", ["r1": 1], in: "default")
      try await withPage(server, responders(server), "#path=/") { browser in
        try await browser.wait(for: "S.nodes.has('/rooms')")
        func drop(on place: String) async throws {
          try await browser.json(
            """
            (() => { const list = new DataTransfer();
              list.items.add(new File(['{"r2":2}'], 'rooms.json'));
              const drop = new DragEvent('drop',
                { dataTransfer: list, bubbles: true, cancelable: true });
              \(place).dispatchEvent(drop); window.wasTaken = drop.defaultPrevented; return 1; })()
            """)
          // Else the browser would show the file in the place of the page.
          #expect(try await browser.holds("window.wasTaken"))
        }
        try await drop(on: "$('title')")
        #expect(try await browser.holds("!$('dialog').open"))
        try await drop(on: "S.nodes.get('/rooms')")
        try await browser.wait(for: "$('dialog').open")
        #expect(
          try await browser.holds("$('question').textContent.includes('/rooms with rooms.json')"))
        try await browser.json("$('yes').click()")
        try await browser.wait(for: "S.nodes.has('/rooms/r2')")
        #expect(server.data(in: "default") == ["rooms": ["r2": 2]])
      }
    }

    @Test(arguments: [("", "busy"), ("?ns=named", "named"), ("?ns=named#ns=other", "other")])
    func `The page begins with the namespace that is named, else with one that has data`(
      _ place: String, _ space: String
    ) async throws {
      let server = Server()
      for name in ["busy", "named", "other", "later"] {
        server.set("/of", Node(.string(name)), in: name)
      }
      try await withPage(server, responders(server), place) { browser in
        try await browser.wait(for: "S.nodes.has('/of')")
        #expect(try await row(browser, "/of") == "\"of:\\\"\(space)\\\"\"")
      }
    }

    @Test func `Odd keys and values are text, run nothing, and are edited in their place`()
      async throws
    {
      let server = Server()
      let keys = [
        "<img src=x onerror=hit=1>", "a b", " lead", "__proto__", "constructor", "100%",
        "a+b&c=d?e",
        "quote\"s'", "שלום", "\u{202E}abc", "\\u{61}", "&lt;", "😀", "a:b;c", "~", "'); hit=1; ('",
      ]
      server.set(
        "/odd", Node(children: keys.map { (Key($0), "<img src=x onerror=hit=1><b>") }),
        in: "default")
      let deep = Path((0..<32).map { Key("level \($0)") })
      server.set(deep, "deep", in: "default")
      try await withPage(server, responders(server), "#path=/odd") { browser in
        try await browser.wait(for: "S.rows.length === \(keys.count + 1)")
        #expect(try await browser.holds("typeof hit === 'undefined'"))
        #expect(
          try await browser.holds(
            "[...$('tree').querySelectorAll('*')].every((node) => /DIV|SPAN/.test(node.tagName))"))
        for number in 1...keys.count {
          try await browser.json("choose(S.rows[\(number)].id)")
          try await browser.press("Enter")
          try await browser.wait(for: "document.activeElement.tagName === 'TEXTAREA'")
          try await browser.type("edited")
          try await browser.press("Enter")
          try await browser.wait(for: "!S.edit")
        }
        let data = server.data("/odd", in: "default")
        #expect(data.childCount == keys.count)
        for key in keys { #expect(data[Key(key)] == "edited", "\(key)") }

        // As deep as data may be, and narrow.
        try await browser.json("go('\(deep.parent ?? .root)')")
        try await browser.wait(for: "S.nodes.has('\(deep)')")
        try await browser.json(
          """
          (() => { let path = ''; for (let i = 0; i < 31; i++) { path += '/level ' + i; S.open.add(path); }
            return go('/'); })()
          """)
        try await browser.resize(360, 700)
        try await browser.wait(for: "S.nodes.has('\(deep)')")
        try await browser.json("choose('\(deep)')")
        #expect(try await browser.holds("document.documentElement.scrollWidth <= 360"))
        #expect(
          try await browser.holds(
            """
            (() => { const box = S.nodes.get(S.chosen).children[1].getBoundingClientRect();
              return box.left >= 0 && box.left < 340 && box.top > 0 && box.bottom < 700; })()
            """))
      }
    }
  }
#endif
