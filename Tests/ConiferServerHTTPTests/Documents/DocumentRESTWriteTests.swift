import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import TestSupport
import Testing

/// Commits, batches, and databases apart.
@Suite struct DocumentRESTWriteTests {
  @Test(
    "A commit is made whole, with transforms and their results",
    arguments: DocumentTestStore.allCases)
  func commits(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    await client.expect(
      "POST :commit",
      #"""
      {"writes": [
        {"update": {"name": "~/r/a", "fields": {"n": {"integerValue": "1"}, "l": {"arrayValue": {"values": [{"stringValue": "x"}]}}}},
         "currentDocument": {"exists": false}},
        {"update": {"name": "~/r/a", "fields": {"k": {"stringValue": "v"}}}, "updateMask": {"fieldPaths": ["k"]},
         "updateTransforms": [
           {"fieldPath": "t", "setToServerValue": 1},
           {"fieldPath": "n", "increment": {"integerValue": "4"}},
           {"fieldPath": "l", "appendMissingElements": {"values": [{"stringValue": "x"}, {"stringValue": "y"}]}},
           {"fieldPath": "m", "maximum": {"doubleValue": 2.5}}]},
        {"transform": {"document": "~/r/b", "fieldTransforms": [
           {"fieldPath": "n", "minimum": {"integerValue": "3"}},
           {"fieldPath": "l", "removeAllFromArray": {"values": []}}]}},
        {"delete": "~/r/none"},
        {"verify": "~/r/none", "currentDocument": {"exists": false}}
      ]}
      """#,
      #"{"writeResults":[{"updateTime":"t1"},{"updateTime":"t1","transformResults":[{"timestampValue":"t1"},{"integerValue":"5"},{"nullValue":null},{"doubleValue":2.5}]},{"updateTime":"t1","transformResults":[{"integerValue":"3"},{"nullValue":null}]},{},{}],"commitTime":"t1"}"#
    )
    await client.expect(
      "GET /r/a",
      #"{"name":"~/r/a","fields":{"k":{"stringValue":"v"},"l":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"y"}]}},"m":{"doubleValue":2.5},"n":{"integerValue":"5"},"t":{"timestampValue":"t1"}},"createTime":"t1","updateTime":"t1"}"#
    )
    await client.expect(
      "GET /r/b",
      #"{"name":"~/r/b","fields":{"l":{"arrayValue":{}},"n":{"integerValue":"3"}},"createTime":"t1","updateTime":"t1"}"#
    )
    // None of a commit is made when one of its writes is refused.
    await client.refuses(
      "POST :commit",
      #"{"writes":[{"delete":"~/r/a"},{"delete":"~/r/none","currentDocument":{"exists":true}}]}"#,
      404, "NOT_FOUND", "r/none")
    #expect(await client.ask("GET /r/a").status == 200)
    // An empty mask changes nothing of a document, and makes a missing one.
    await client.expect(
      "POST :commit", #"{"writes":[{"update":{"name":"~/r/c"},"updateMask":{}}]}"#,
      #"{"writeResults":[{"updateTime":"t2"}],"commitTime":"t2"}"#)
    await client.expect("GET /r/c", #"{"name":"~/r/c","createTime":"t2","updateTime":"t2"}"#)
    await client.expect("POST :commit", "{}", #"{"commitTime":"t3"}"#)
  }

  @Test("Writes of a batch are made one by one", arguments: DocumentTestStore.allCases)
  func batches(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    try await client.make(["r/a": [:]])
    let reply = await client.ask(
      "POST :batchWrite",
      DocumentRESTClient.long(
        #"{"writes":[{"update":{"name":"~/r/a"},"currentDocument":{"exists":false}},{"update":{"name":"~/r/b"}},{"delete":"~/r/c","currentDocument":{"exists":true}},{"delete":"~/r/d"}],"labels":{"a":"b"}}"#
      ))
    #expect(reply.status == 200, "\(reply.body)")
    #expect(reply.body.contains(#""status":[{"code":6,"message":""#), "\(reply.body)")
    #expect(reply.body.contains(#"},{},{"code":5,"message":""#) && reply.body.hasSuffix(#"},{}]}"#))
    #expect(await client.ask("GET /r/b").status == 200)
    await client.refuses(
      "POST :batchWrite", #"{"writes":[{"delete":"~/r/a"},{"delete":"~/r/a"}]}"#, 400,
      "INVALID_ARGUMENT", "one document")
  }

  @Test(
    "Projects and databases are apart, and a reset is of one", arguments: DocumentTestStore.allCases
  )
  func databases(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    let roots = [
      "projects/p/databases/(default)/documents", "projects/p/databases/two/documents",
      "projects/q.example:x/databases/%28default%29/documents",
    ]
    for (number, root) in roots.enumerated() {
      let reply = await client.ask(
        "PATCH /r/a", #"{"fields":{"n":{"integerValue":"\#(number)"}}}"#, in: root)
      #expect(reply.status == 200, "\(reply.body)")
    }
    for (number, root) in roots.enumerated() {
      let reply = await client.ask("GET /r/a", in: root)
      #expect(reply.body.contains(#""n":{"integerValue":"\#(number)"}"#))
      #expect(await client.raw("GET /v1beta1/\(root)/r/a").body == reply.body)
    }
    let other = await client.ask(
      "POST :commit", #"{"writes":[{"delete":"projects/p/databases/two/documents/r/a"}]}"#)
    #expect(other.status == 400 && other.body.contains("which the request is for"))
    let reset = await client.raw("DELETE /emulator/v1/\(roots[1])")
    #expect(reset.status == 200 && reset.body == "{}", "\(reset.body)")
    #expect(await client.ask("GET /r/a", in: roots[1]).status == 404)
    await client.expect(
      "POST :listCollectionIds", #"{"collectionIds":["r"]}"#)
    #expect(await client.ask("GET /r/a", in: roots[2]).status == 200)
    // What is written afterwards stays, and is later than what was there.
    let again = await client.ask("PATCH /r/b", "{}", in: roots[1])
    #expect(again.status == 200 && again.body.contains("updateTime"))
    #expect(await client.raw("GET /emulator/v1/\(roots[1])").status == 501)
    #expect(await client.raw("DELETE /emulator/v1/\(roots[1])/r/b").status == 501)
    #expect(await client.ask("GET /r/b", in: roots[1]).status == 200)
  }

  @Test("What was answered is there after a restart")
  func restart() async throws {
    let scratch = try Scratch()
    var body = ""
    do {
      let client = try DocumentRESTClient(.lmdb, on: scratch)
      body = await client.ask("PATCH /r/a", #"{"fields":{"n":{"integerValue":"1"}}}"#).body
      try await client.server.close()
    }
    let client = try DocumentRESTClient(.lmdb, on: scratch)
    #expect(await client.ask("GET /r/a").body == body)
    #expect(await client.ask("PATCH /r/a", #"{"fields":{"n":{"integerValue":"2"}}}"#).status == 200)
    await client.expect(
      "GET /r/a",
      #"{"name":"~/r/a","fields":{"n":{"integerValue":"2"}},"createTime":"t1","updateTime":"t2"}"#)
    try await client.server.close()
  }
}
