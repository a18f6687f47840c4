#if Network
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Testing

  /// What a test does on the page.
  extension PageDatabaseBrowserTests {
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
      func waitUntilIdle() async throws {
        try await browser.json("(async () => { await refresh(); await refresh(); return 1; })()")
      }

      /// Edits a field or a document: a type and a text.
      func edit(_ path: String, _ type: String?, _ text: String?) async throws {
        try await waitUntilIdle()
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
  }
#endif
