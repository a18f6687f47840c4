import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import Testing

/// One document or one collection, by method.
@Suite struct DocumentRESTMethodTests {
  @Test(
    "A document is made, read, changed, replaced and deleted", arguments: DocumentTestStore.allCases
  )
  func life(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    await client.refuses("GET /rooms/eros", 404, "NOT_FOUND", "documents/rooms/eros")
    await client.expect(
      "POST /rooms?documentId=eros",
      #"{"fields":{"name":{"stringValue":"Eros"},"size":{"integerValue":"3"}}}"#,
      #"{"name":"~/rooms/eros","fields":{"name":{"stringValue":"Eros"},"size":{"integerValue":"3"}},"createTime":"t1","updateTime":"t1"}"#
    )
    await client.refuses(
      "POST /rooms?documentId=eros", "{}", 409, "ALREADY_EXISTS", "rooms/eros")
    // A mask names what is changed, what is removed, and what is shown.
    await client.expect(
      "PATCH /rooms/eros?updateMask.fieldPaths=size&updateMask.fieldPaths=old&mask.fieldPaths=size",
      #"{"fields":{"size":{"integerValue":4},"name":{"stringValue":"not written"}}}"#,
      #"{"name":"~/rooms/eros","fields":{"size":{"integerValue":"4"}},"createTime":"t1","updateTime":"t2"}"#
    )
    await client.expect(
      "GET /rooms/eros",
      #"{"name":"~/rooms/eros","fields":{"name":{"stringValue":"Eros"},"size":{"integerValue":"4"}},"createTime":"t1","updateTime":"t2"}"#
    )
    await client.expect(
      "GET /rooms/eros?mask.fieldPaths=none",
      #"{"name":"~/rooms/eros","createTime":"t1","updateTime":"t2"}"#)
    // A field that is named and not given is removed.
    await client.expect(
      "PATCH /rooms/eros?updateMask.fieldPaths=size", "{}",
      #"{"name":"~/rooms/eros","fields":{"name":{"stringValue":"Eros"}},"createTime":"t1","updateTime":"t3"}"#
    )
    // Without a mask all is replaced.
    await client.expect(
      "PATCH /rooms/eros", #"{"name":"~/rooms/eros","fields":{"a":{"booleanValue":true}}}"#,
      #"{"name":"~/rooms/eros","fields":{"a":{"booleanValue":true}},"createTime":"t1","updateTime":"t4"}"#
    )
    await client.expect("DELETE /rooms/eros", "{}")
    await client.expect("DELETE /rooms/eros", "{}")
    await client.refuses("GET /rooms/eros", 404, "NOT_FOUND")
    try await client.server.close()
  }

  @Test("A write takes place when its precondition holds")
  func preconditions() async throws {
    let client = try DocumentRESTClient()
    let one = #"{"fields":{"n":{"integerValue":"1"}}}"#
    await client.refuses(
      "PATCH /r/a?currentDocument.exists=true", one, 404, "NOT_FOUND", "no document r/a")
    await client.refuses("DELETE /r/a?currentDocument.exists=true", 404, "NOT_FOUND")
    await client.expect(
      "PATCH /r/a?currentDocument.exists=false", one,
      #"{"name":"~/r/a","fields":{"n":{"integerValue":"1"}},"createTime":"t1","updateTime":"t1"}"#)
    await client.refuses(
      "PATCH /r/a?currentDocument.exists=false", one, 409, "ALREADY_EXISTS")
    let time = "2023-11-14T22:13:20.000001Z"
    await client.refuses(
      "PATCH /r/a?currentDocument.updateTime=2023-11-14T22:13:20Z", one, 400,
      "FAILED_PRECONDITION", "changed since")
    await client.refuses(
      "DELETE /r/a?currentDocument.updateTime=2023-11-14T22:13:20.000009Z", 400,
      "FAILED_PRECONDITION")
    let reply = await client.ask(
      "PATCH /r/a?currentDocument.updateTime=\(time)", #"{"fields":{}}"#)
    #expect(reply.status == 200 && !reply.body.contains("fields"))
    await client.refuses(
      "DELETE /r/a?currentDocument.updateTime=\(time)", 400, "FAILED_PRECONDITION")
    await client.expect("DELETE /r/a?currentDocument.exists=true", "{}")
  }

  @Test("Every type comes back as it was written", arguments: DocumentTestStore.allCases)
  func types(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    let fields = [
      #""array":{"arrayValue":{"values":[{"integerValue":"1"},{"mapValue":{}}]}}"#,
      #""big":{"integerValue":"9223372036854775807"}"#, #""bool":{"booleanValue":false}"#,
      #""bytes":{"bytesValue":"AP8="}"#, #""double":{"doubleValue":0.5}"#,
      #""empty":{"arrayValue":{}}"#,
      #""geo":{"geoPointValue":{"latitude":1.5,"longitude":-2}}"#,
      #""inf":{"doubleValue":"-Infinity"}"#,
      #""map":{"mapValue":{"fields":{"a b":{"nullValue":null}}}}"#,
      #""nan":{"doubleValue":"NaN"}"#, #""null":{"nullValue":null}"#,
      #""ref":{"referenceValue":"~/rooms/eros"}"#, #""text":{"stringValue":"é\n𝄞"}"#,
      #""time":{"timestampValue":"2001-02-03T04:05:06.000007Z"}"#,
    ].joined(separator: ",")
    let reply = await client.ask("PATCH /types/all", #"{"fields":{\#(fields)}}"#)
    #expect(reply.status == 200)
    #expect(
      DocumentRESTClient.short(reply.body)
        == #"{"name":"~/types/all","fields":{\#(fields)},"createTime":"t1","updateTime":"t1"}"#)
    let vector =
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"arrayValue":{"values":[{"doubleValue":1},{"doubleValue":2}]}}}}}"#
    await client.expect(
      "PATCH /types/v", #"{"fields":{"v":\#(vector)}}"#,
      #"{"name":"~/types/v","fields":{"v":\#(vector)},"createTime":"t2","updateTime":"t2"}"#)
  }

  @Test("Ids may be any text that a URL can name", arguments: DocumentTestStore.allCases)
  func ids(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    let ids = [
      ("%F0%9D%84%9E", "𝄞"), ("%C3%A9", "é"), ("e%CC%81", "e\u{301}"), ("a%20b", "a b"),
      ("a:b", "a:b"), ("x%3Acommit", "x:commit"), ("..%2E", "..."), ("%25", "%"),
      ("a.json", "a.json"),
      ("__id7__", "__id7__"), ("%22%5C", "\"\\"),
    ]
    for (number, (encoded, id)) in ids.enumerated() {
      let reply = await client.ask(
        "PATCH /r%C3%B6%C3%B6ms/\(encoded)", #"{"fields":{"n":{"integerValue":\#(number)}}}"#)
      #expect(reply.status == 200, "\(id): \(reply.body)")
      let stored = try await client.server.document(
        #require(DocumentPath(in: CollectionPath("rööms"), id: id)), in: DatabaseID(project: "p"))
      #expect(stored?.fields == ["n": .integer(Int64(number))], "\(id)")
      #expect(await client.ask("GET /r%C3%B6%C3%B6ms/\(encoded)").body == reply.body)
    }
    // The composed and the decomposed letter are two ids.
    let list = await client.ask("GET /r%C3%B6%C3%B6ms")
    #expect(list.body.matches(of: #/"name":/#).count == ids.count)
    let made = await client.ask("POST /rooms", "")
    let name = DocumentRESTClient.text("name", made)
    #expect(
      made.status == 200 && name.wholeMatch(of: #/.*\/documents\/rooms\/[A-Za-z0-9]{20}/#) != nil)
  }

  @Test(
    "A collection is listed in pages, which go on where one ended",
    arguments: DocumentTestStore.allCases)
  func pages(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    try await client.make(
      Dictionary(
        uniqueKeysWithValues: (0..<7).map { ("rooms/r\($0)", ["rank": Int64($0 * 3 % 7), "b": 1]) })
    )
    try await client.make([
      "rooms/none": ["x": 1], "rooms/r1/below/a": ["rank": 5], "other/a": ["rank": 1],
    ])
    func pages(_ parameters: String) async -> [[String]] {
      var (pages, token): ([[String]], String) = ([], "")
      repeat {
        let reply = await client.ask("GET /rooms?\(parameters)&pageToken=\(token)")
        #expect(reply.status == 200, "\(reply.body)")
        pages.append(reply.body.matches(of: #/documents\/rooms\/(\w+)"/#).map { String($0.1) })
        token = DocumentRESTClient.text("nextPageToken", reply)
          .replacing("+", with: "%2B").replacing("/", with: "%2F")
      } while !token.isEmpty && pages.count < 20
      return pages
    }
    #expect(
      await pages("pageSize=3") == [["none", "r0", "r1"], ["r2", "r3", "r4"], ["r5", "r6"]])
    #expect(await pages("pageSize=4") == [["none", "r0", "r1", "r2"], ["r3", "r4", "r5", "r6"]])
    #expect(await pages("") == [["none", "r0", "r1", "r2", "r3", "r4", "r5", "r6"]])
    // What lacks a field of the order is not in it.
    #expect(
      await pages("pageSize=3&orderBy=rank%20desc")
        == [["r2", "r4", "r6"], ["r1", "r3", "r5"], ["r0"]])
    #expect(
      await pages("pageSize=5&orderBy=b,%20rank%20asc")
        == [["r0", "r5", "r3", "r1", "r6"], ["r4", "r2"]])
    let masked = await client.ask("GET /rooms?pageSize=1&orderBy=rank&mask.fieldPaths=rank")
    #expect(masked.body.contains(#""fields":{"rank":{"integerValue":"0"}}"#))
    // A page token is of its list.
    let first = await client.ask("GET /rooms?pageSize=1&orderBy=rank")
    let token = DocumentRESTClient.text("nextPageToken", first)
      .replacing("+", with: "%2B").replacing("/", with: "%2F")
    for other in ["/rooms?", "/rooms?orderBy=b&", "/other?orderBy=rank&"] {
      await client.refuses(
        "GET \(other)pageToken=\(token)", 400, "INVALID_ARGUMENT", "page token")
    }
    await client.expect("GET /nothing", "{}")
  }

  /// A head of 64 kB is the longest that the server takes.
  @Test(
    "A list that is sorted by long texts goes on with a token that fits into a URL",
    arguments: DocumentTestStore.allCases)
  func longOrder(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    let database = DatabaseID(project: "p")
    let collection = "r" + String(repeating: "ö", count: 700)
    func set(_ id: Int, _ letter: String?) async throws {
      let path = try DocumentPath("\(collection)/r\(id)")
      let text = letter.map { DocumentValue.string(String(repeating: "x", count: 100_000) + $0) }
      let write = Mutation(path, .set(["text": text ?? nil, "n": 1], []))
      try await client.server.commit([write], in: database)
    }
    for (id, letter) in ["c", "a", "d", "b", "a"].enumerated() { try await set(id, letter) }
    let url = collection.replacing("ö", with: "%C3%B6")
    func page(_ token: String) async -> (ids: [String], token: String) {
      let reply = await client.ask(
        "GET /\(url)?pageSize=2&orderBy=n,text%20desc&mask.fieldPaths=n&pageToken=\(token)")
      let ids = reply.body.matches(of: #/\/r(\d)"/#).map { String($0.1) }
      return (ids, DocumentRESTClient.text("nextPageToken", reply))
    }
    let first = await page("")
    #expect(first.ids == ["2", "0"] && first.token.utf8.count < 32_000)
    let second = await page(first.token)
    #expect(second.ids == ["3", "4"])
    // Behind the last one.
    #expect(await page(second.token).ids == ["1"])
    // It is elsewhere by now.
    try await set(4, "z")
    let old = "GET /\(url)?pageSize=2&orderBy=n,text%20desc&pageToken=\(second.token)"
    await client.refuses(old, 400, "FAILED_PRECONDITION", "from the beginning")
    try await client.server.commit(
      [Mutation(try DocumentPath("\(collection)/r4"), .delete)], in: database)
    await client.refuses(old, 400, "FAILED_PRECONDITION", "from the beginning")
  }

  @Test(
    "What is missing and has something below it is listed when asked for",
    arguments: DocumentTestStore.allCases)
  func missing(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    try await client.make([
      "rooms/b": [:], "rooms/d": [:], "rooms/a/m/1": [:], "rooms/c/m/1/n/2": [:],
      "rooms/d/m/1": [:], "rooms/__id9__/m/1": [:], "rooms/e/x/1": [:], "rooms-x/z/m/1": [:],
      "rooms/c/z/1": [:],
    ])
    for size in [1, 2, 3, 10] {
      var (found, token): ([String], String) = ([], "")
      repeat {
        let reply = await client.ask(
          "GET /rooms?showMissing=true&pageSize=\(size)&pageToken=\(token)")
        found += reply.body.matches(of: #/documents\/rooms\/(\w+)"(,"createTime"|})/#)
          .map { "\($0.1)\($0.2 == "}" ? " missing" : "")" }
        token = DocumentRESTClient.text("nextPageToken", reply)
          .replacing("+", with: "%2B").replacing("/", with: "%2F")
      } while !token.isEmpty && found.count < 20
      #expect(
        found == ["__id9__ missing", "a missing", "b", "c missing", "d", "e missing"], "\(size)")
    }
    await client.refuses(
      "GET /rooms?showMissing=true&orderBy=a", 400, "INVALID_ARGUMENT", "missing documents")
  }
}
