#if Network
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Testing

  /// Queries.
  extension PageDatabaseBrowserTests {
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
