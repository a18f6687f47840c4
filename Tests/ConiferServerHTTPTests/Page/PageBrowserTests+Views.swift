#if Network
  import ConiferKeyValue
  import ConiferQuery
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import ConiferTree
  import ConiferWire
  import Testing

  /// What the page shows of large nodes, clients and stores, and how.
  extension PageBrowserTests {
    @Test func `A node of many children is shown in part, and more on demand`() async throws {
      let server = Server()
      server.set(
        "/big", Node(children: (0..<1000).map { (Key("k\(1000 + $0)"), 1) }), in: "default")
      try await withPage(server, responders(server), "#path=/big") { browser in
        try await browser.wait(for: "S.rows.length === 202")
        try await browser.press("End")
        #expect(try await browser.holds("document.activeElement.textContent.includes('800 more')"))
        try await browser.press("Enter")
        try await browser.wait(for: "S.rows.length === 402 && S.chosen === '/big/k1200'")
        #expect(try await browser.holds("document.activeElement === S.nodes.get('/big/k1200')"))
      }
    }

    @Test func `Clients are shown with their listens while they come and go`() async throws {
      let server = Server()
      server.set("/a", 1, in: "default")
      try await withPage(server, responders(server), "#view=clients") { browser in
        try await browser.wait(for: "$('table').textContent.includes('No client')")
        let session = server.connect(to: "default") { _ in }
        session.receive(
          .request(1, .listen(QueryTarget("/a"), tag: nil, hash: "", compound: nil)))
        session.receive(.request(2, .onDisconnectPut("/gone", true)))
        session.receive(.request(3, .authenticate(Credential("<i>ada</i>"))))
        try await browser.wait(for: "$('table').textContent.includes('<i>ada</i>')")
        #expect(try await browser.holds("$('table').querySelectorAll('i').length === 0"))
        try await browser.wait(for: "$('table').textContent.includes('/gone set')")
        try await browser.wait(for: "$('facts').textContent.startsWith('1 client ')")
        try await browser.wait(for: "S.samples.length > 2 && !$('traffic').hidden")
        try await browser.picture("clients")
        session.end()
        try await browser.wait(for: "$('table').textContent.includes('No client')")
        // What it left is in the tree.
        try await browser.json("$('tab-data').click()")
        try await browser.wait(for: "S.nodes.has('/gone')")
      }
    }

    /// Gives the texts whose contrast to what is behind them is below 4.5 to 1 (WCAG 2.2, AA).
    private static let faint = """
      (() => {
        const rgb = (color) => color.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => { const f = (c) => { c /= 255;
          return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
          return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
        const back = (node) => { for (; node; node = node.parentElement) {
          const color = rgb(getComputedStyle(node).backgroundColor);
          if (color[3] !== 0) return color; } return [255, 255, 255]; };
        return [...document.querySelectorAll('body *')].filter((node) =>
          node.checkVisibility() && !node.disabled && !['SCRIPT', 'OPTION'].includes(node.tagName)
          && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
          .filter((node) => { const [a, b] = [light(rgb(getComputedStyle(node).color)),
            light(back(node))]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5; })
          .map((node) => node.tagName + '.' + node.className + ': ' + node.textContent.slice(0, 40));
      })()
      """

    @Test func `Every text is readable in the light and in the dark`() async throws {
      let server = Server()
      server.set(
        "/all", ["t": "x", "n": 1, "b": true, "o": ["p": 1], "r": Node("y", priority: 2)],
        in: "default")
      try await withPage(server, responders(server), "#path=/all") { browser in
        try await browser.wait(for: "S.rows.length === 6")
        try await browser.press("End")
        try await browser.press("Enter")
        try await browser.wait(for: "S.edit !== null")
        try await browser.json("say('words', true)")
        var backs: Set<String> = []
        for scheme in ["light", "dark"] {
          try await browser.prefer(scheme: scheme)
          #expect(try await browser.json(Self.faint) == "[]", "\(scheme)")
          try await browser.picture("tree-\(scheme)")
          backs.insert(try await browser.json("getComputedStyle(document.body).backgroundColor"))
        }
        #expect(backs.count == 2)
      }
    }

    @Test func `Where tokens are checked the page asks for one`() async throws {
      let tokens = TokenTable(["boss": VerifiedToken(uid: "", isAdmin: true)])
      let server = Server(ServerConfiguration(authenticator: tokens))
      server.set("/a", 1, in: "default")
      let http = HTTPServer(
        server, HTTPServerConfiguration(port: 0),
        responders: [
          PageResponder(server), RESTResponder(server),
        ])
      let port = try await http.start()
      let browser = try await Browser()
      try await browser.open("http://127.0.0.1:\(port)/")
      try await browser.wait(for: "$('dialog').open && document.activeElement === $('answer')")
      #expect(try await browser.holds("S.rows.length === 0"))
      try await browser.type("boss")
      try await browser.press("Enter")
      try await browser.wait(for: "S.nodes.has('/a')")
      try await browser.json("choose('/a')")
      try await browser.press("Delete")
      try await browser.wait(for: "!S.nodes.has('/a')")
      #expect(server.data(in: "default").isEmpty)
      await browser.close()
      await http.stop()
    }

    @Test func `A client's store is shown without what would change it`() async throws {
      let backend = try StorageRegistry([.memory]).configuration(
        "memory://", defaults: StorageOptions(budget: nil)
      ).open()
      let tree = try await backend.tree(named: "host/a b <1>")
      let lane = Lane(tree: tree, identity: "ada")
      let refused = try await backend.commit([
        .enqueue(lane, .set("/gone", 1, time: 1)),
        .saveQuery(TrackedQuery(tree: tree, path: "/rooms", isComplete: true)),
      ])
      try await backend.commit([
        .setState(lane, refused.writes[0], .rejected(reason: "permission_denied"))
      ])
      try await backend.commit([
        .overwrite(tree, "/rooms/r1", ["name": "Kitchen"]), .pin(Pin(tree: tree, path: "/rooms")),
        .enqueue(lane, .set("/rooms/r1/name", "Attic", time: 1)),
      ])
      let inspection = StoreInspection(backend, title: "memory://")
      try await withPage(Server(), [inspection]) { browser in
        try await browser.press("ArrowDown")
        try await browser.press("ArrowRight")
        try await browser.wait(for: "S.nodes.has('/rooms/r1')")
        #expect(
          try await browser.holds("!$('edit').checkVisibility() && $('export').checkVisibility()"))
        for key in ["Insert", "Delete", "F2"] { try await browser.press(key) }
        #expect(try await browser.holds("S.edit === null && S.nodes.has('/rooms')"))
        try await browser.json("$('tab-queue').click()")
        try await browser.wait(for: "$('table').textContent.includes('/rooms/r1/name')")
        #expect(try await browser.holds("$('table').textContent.includes('ada')"))
        try await browser.picture("queue")
        for (table, words) in [("dead", "permission_denied"), ("queries", "/rooms")] {
          try await browser.json("$('tab-\(table)').click()")
          try await browser.wait(for: "$('table').textContent.includes('\(words)')")
        }
        try await browser.json("$('tab-pins').click()")
        try await browser.wait(for: "$('table').textContent.includes('/rooms')")
        try await browser.json("$('tab-bytes').click()")
        try await browser.wait(for: "$('table').textContent.includes('cached data')")
      }
      try await backend.close()
    }
  }
#endif
