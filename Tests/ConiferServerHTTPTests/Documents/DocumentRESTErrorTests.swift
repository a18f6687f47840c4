import ConiferDocument
import ConiferDocumentServer
import ConiferServer
import ConiferServerHTTP
import ConiferStorage
import Testing

/// What is refused, and that nothing has changed then.
@Suite struct DocumentRESTErrorTests {
  @Test(
    arguments: [
      ("POST :commit", "{", "Line 1, column 2: The text ends"),
      ("POST :commit", "[]", "Line 1, column 1: The body is a JSON object"),
      ("POST :commit", "{}x", "Line 1, column 3: More text follows"),
      ("POST :commit", #"{"writes":{}}"#, "The value of writes is an array"),
      ("POST :commit", "{\n \"writes\": [1]}", "Line 2, column 13: A write is a JSON object"),
      ("POST :commit", #"{"write":[]}"#, "Nobody knows \\\"write\\\" here"),
      ("POST :commit", #"{"writes":[{}]}"#, "one of update, delete"),
      ("POST :commit", #"{"writes":[{"delete":"~/r/a","verify":"~/r/a"}]}"#, "one of update"),
      ("POST :commit", #"{"writes":[{"delete":"~/r"}]}"#, "has 1 segments"),
      ("POST :commit", #"{"writes":[{"delete":"r/a"}]}"#, "names no document"),
      ("POST :commit", #"{"writes":[{"delete":"~/r/a","updateMask":{}}]}"#, "belong to an update"),
      ("POST :commit", #"{"writes":[{"update":{"fields":{}}}]}"#, "An update has a name"),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a","fields":{"a":{"textValue":""}}}}]}"#,
        "is no type of a value"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a","fields":{"a":{"integerValue":"1.5"}}}}]}"#,
        "integer of 64 bits"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a","fields":{"__a__":{"nullValue":null}}}}]}"#,
        "is reserved"
      ),
      (
        "POST :commit", #"{"writes":[{"update":{"name":"~/r/__a__"}}]}"#, "are reserved"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a","fields":{"a":{"arrayValue":{"values":[{"arrayValue":{}}]}}}}}]}"#,
        "holds an array"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a"},"updateTransforms":[{"fieldPath":"a"}]}]}"#,
        "one operation"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a"},"updateTransforms":[{"fieldPath":"a","increment":{"stringValue":"1"}}]}]}"#,
        "integer or a double"
      ),
      (
        "POST :commit",
        #"{"writes":[{"update":{"name":"~/r/a"},"currentDocument":{"exists":true,"updateTime":"t1"}}]}"#,
        "not both"
      ),
      (
        "POST :commit", #"{"writes":[{"update":{"name":"~/r/a","fields":{"a":null}}}]}"#,
        "is a JSON object"
      ),
      ("POST :commit", #"{"writes":[{"delete":null}]}"#, "one of update"),
      ("POST :commit", #"{"writs":null}"#, "Nobody knows \\\"writs\\\""),
      ("POST :commit", #"{"writes":[{"delete":"~/r/a","masks":null}]}"#, "Nobody knows"),
      (
        "POST :commit", #"{"writes":[{"delete":"~/r/a","currentDocument":{"exist":null}}]}"#,
        "Nobody knows"
      ),
      (
        "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}],"limits":null}}"#,
        "Nobody knows"
      ),
      ("POST :beginTransaction", #"{"options":{"readWrites":null}}"#, "Nobody knows"),
      (
        "PATCH /r/a?currentDocument.exists=false&currentDocument.exists=true", "{}", "there twice"
      ),
      ("GET /r?pageSize=1&pageSize=2", "", "there twice"),
      ("POST :commit", #"{"transaction":""}"#, "base 64"),
      ("POST :commit", #"{"transaction":"AAAA"}"#, "has ended"),
      (
        "POST :commit", #"{"database":"projects/q/databases/(default)"}"#, "not the one of the path"
      ),
      ("POST :rollback", "{}", "no transaction"),
      (
        "POST :beginTransaction", #"{"options":{"readOnly":{},"readWrite":{}}}"#,
        "readOnly or readWrite"
      ),
      ("POST :runQuery", "{}", "no structuredQuery"),
      ("POST :runQuery", #"{"structuredQuery":{"from":[]}}"#, "one collection"),
      (
        "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}],"limit":-1}}"#,
        "from 0"
      ),
      (
        "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}],"findNearest":{}}}"#,
        "findNearest"
      ),
      (
        "POST :runQuery",
        #"{"structuredQuery":{"from":[{"collectionId":"r"}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"LIKE","value":{"nullValue":null}}}}}"#,
        "Nobody knows the filter"
      ),
      (
        "POST :runQuery",
        #"{"structuredQuery":{"from":[{"collectionId":"r"}],"startAt":{"values":[{"nullValue":null}]}}}"#,
        "1 values"
      ),
      ("POST :batchGet", #"{"documents":["~/r"]}"#, "segments"),
      (
        "POST :batchGet", #"{"documents":[],"transaction":"AAAA","readTime":"t1"}"#,
        "one of transaction"
      ),
      ("POST :listCollectionIds", #"{"pageToken":"!"}"#, "page token"),
      ("PATCH /r/a?updateMask=a", "{}", "updateMask"),
      ("PATCH /r/a", #"{"name":"~/r/b"}"#, "not the one of the path"),
      ("PATCH /r/a?currentDocument.exists=yes", "{}", "true or false"),
      ("PATCH /r/a?currentDocument.updateTime=yesterday", "{}", "is no time"),
      ("PATCH /r/a?updateMask.fieldPaths=a..b", "{}", "empty name"),
      ("POST /r?documentId=a%2Fb", "{}", "without a slash"),
      ("POST /r?documentId=a", #"{"name":"~/r/a"}"#, "has no name"),
      ("GET /r?pageSize=-1", "", "from 0"), ("GET /r?orderBy=a%20up", "", "orderBy is"),
      ("GET /r?pageToken=!", "", "page token"), ("GET /r?pageToken=AAAA", "", "page token"),
      ("GET /r/a?readTime=x", "", "is no time"), ("GET /r/%FF", "", "percent-encoded"),
      ("GET /r//a", "", "empty"), ("GET /r/a%2Fb", "", "slash"), ("DELETE /r/..", "", "reserved"),
      ("GET /__a__/b", "", "reserved"),
    ] as [(String, String, String)])
  func `Bad input is an invalid argument, with its place`(
    line: String, body: String, words: String
  ) async throws {
    let client = try DocumentRESTClient()
    await client.refuses(line, body, 400, "INVALID_ARGUMENT", words)
    await client.expect("POST :listCollectionIds", "{}")
  }

  @Test(
    arguments: [
      ("POST :nothing", 404, "NOT_FOUND"), ("POST /r/a:commit", 404, "NOT_FOUND"),
      ("POST /r:runQuery", 404, "NOT_FOUND"), ("POST :listen", 501, "UNIMPLEMENTED"),
      ("POST :partitionQuery", 501, "UNIMPLEMENTED"), ("PUT /r/a", 501, "UNIMPLEMENTED"),
      ("POST /r/a", 501, "UNIMPLEMENTED"), ("DELETE /r", 501, "UNIMPLEMENTED"),
      ("GET", 501, "UNIMPLEMENTED"), ("DELETE", 501, "UNIMPLEMENTED"),
    ] as [(String, Int, String)])
  func `What there is not is said`(line: String, status: Int, word: String) async throws {
    let client = try DocumentRESTClient()
    await client.refuses(line, "{}", status, word)
  }

  @Test("Names of projects and databases are plain")
  func names() async throws {
    let client = try DocumentRESTClient()
    let long = String(repeating: "x", count: 101)
    for name in ["a%20b", "%C3%A9", long, "a%0A", ".", "..", "%2E%2E"] {
      for root in [
        "projects/\(name)/databases/d/documents", "projects/p/databases/\(name)/documents",
      ] {
        let reply = await client.ask("GET /r/a", in: root)
        #expect(reply.status == 400 && reply.body.contains("INVALID_ARGUMENT"), "\(reply.body)")
      }
    }
    for line in ["GET /r/a", "PATCH /r/a", "POST :commit"] {
      let reply = await client.ask(line, "{}", in: "projects/p/databases/d/documents:other")
      #expect(reply.status == 400 && reply.body.contains("INVALID_ARGUMENT"), "\(reply.body)")
    }
    // Other paths are not this responder's.
    for path in [
      "/v1/users.json", "/v1/projects/p/databases/d.json", "/v2/\(DocumentRESTClient.root)/r/a",
    ] {
      #expect(await client.raw("GET \(path)").status == 0, "\(path)")
    }
  }

  @Test("Errors of what answers arrays are arrays")
  func arrays() async throws {
    let client = try DocumentRESTClient()
    for verb in ["batchGet", "runQuery", "runAggregationQuery"] {
      let reply = await client.ask("POST :\(verb)", "{")
      #expect(reply.body.hasPrefix(#"[{"error":{"code":400,"#) && reply.body.hasSuffix("}}]"))
    }
    #expect(await client.ask("POST :commit", "{").body.hasPrefix(#"{"error":{"code":400,"#))
  }

  @Test("Sizes and numbers are bounded")
  func bounds() async throws {
    var limits = DocumentRESTLimits()
    (limits.body, limits.answer, limits.writes, limits.batch, limits.page) = (4000, 500, 3, 2, 2)
    let client = try DocumentRESTClient(limits: limits)
    let big = #"{"fields":{"a":{"stringValue":"\#(String(repeating: "x", count: 4000))"}}}"#
    await client.refuses("PATCH /r/a", big, 400, "INVALID_ARGUMENT", "4000 are allowed")
    func writes(_ count: Int) -> String {
      let writes = (0..<count).map { #"{"update":{"name":"~/r/\#($0)"}}"# }
      return #"{"writes":[\#(writes.joined(separator: ","))]}"#
    }
    await client.refuses("POST :commit", writes(4), 400, "INVALID_ARGUMENT", "More than 3 writes")
    await client.refuses("POST :batchWrite", writes(3), 400, "INVALID_ARGUMENT", "More than 2")
    #expect(await client.ask("POST :commit", writes(3)).status == 200)
    await client.refuses(
      "POST :batchGet", #"{"documents":["~/r/0","~/r/0","~/r/0","~/r/0"]}"#, 400,
      "INVALID_ARGUMENT", "More than 3 documents")
    let page = await client.ask("GET /r?pageSize=100")
    #expect(page.body.matches(of: #/"name"/#).count == 2 && page.body.contains("nextPageToken"))
    let text = String(repeating: "y", count: 600)
    #expect(
      await client.ask("PATCH /r/0", #"{"fields":{"a":{"stringValue":"\#(text)"}}}"#).status == 200)
    await client.refuses(
      "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}]}}"#, 429,
      "RESOURCE_EXHAUSTED", "Ask for less")
  }

  @Test("A document, a commit and a value beyond the model's limits are refused")
  func model() async throws {
    let client = try DocumentRESTClient()
    let text = String(repeating: "x", count: 700_000)
    let write = #"{"update":{"name":"~/r/$","fields":{"a":{"stringValue":"\#(text)"}}}}"#
    let large = write.replacing(#"}}}}"#, with: #"},"b":{"stringValue":"\#(text)"}}}}"#)
    await client.refuses(
      "POST :commit", #"{"writes":[\#(large)]}"#, 400, "INVALID_ARGUMENT", "are allowed")
    let many = (0..<16).map { write.replacing("$", with: "\($0)") }.joined(separator: ",")
    await client.refuses(
      "POST :commit", #"{"writes":[\#(many)]}"#, 400, "INVALID_ARGUMENT", "Split them")
    var deep = #"{"nullValue":null}"#
    for _ in 0..<21 { deep = #"{"mapValue":{"fields":{"a":\#(deep)}}}"# }
    await client.refuses(
      "PATCH /r/a", #"{"fields":{"a":\#(deep)}}"#, 400, "INVALID_ARGUMENT", "levels")
    await client.expect("POST :listCollectionIds", "{}")
  }

  @Test("Tokens are verified where they are, and say who may do what")
  func tokens() async throws {
    let table = TokenTable([
      "t1": VerifiedToken(uid: "ada"), "root": VerifiedToken(uid: "", isAdmin: true),
    ])
    let open = try DocumentRESTClient(access: DocumentAccess(verifying: table))
    #expect(await open.ask("GET /r/a").status == 404)
    #expect(await open.ask("GET /r/a", token: "t1").status == 404)
    let unknown = await open.ask("GET /r/a", token: "t2")
    #expect(unknown.status == 401 && unknown.body.contains(#""status":"UNAUTHENTICATED""#))
    #expect(await open.ask("GET /r/a?access_token=t2").status == 401)
    #expect(await open.ask("PATCH /r/a", token: "t2").status == 401)
    #expect(await open.ask("GET /r/a").status == 404)
    let access = DocumentAccess(verifying: table) { user, request in
      if case .get = request { user?.id == "ada" } else { false }
    }
    let closed = try DocumentRESTClient(access: access)
    #expect(await closed.ask("GET /r/a").status == 403)
    #expect(await closed.ask("GET /r/a", token: "t1").status == 404)
    #expect(await closed.ask("PATCH /r/a", token: "t1").status == 403)
    #expect(await closed.ask("PATCH /r/a", token: "root").status == 200)
    for line in ["GET /r?showMissing=true", "POST :listCollectionIds", "POST :commit"] {
      let body = #"{"writes":[{"delete":"~/r/a"}]}"#
      let reply = await closed.ask(line, line.contains("commit") ? body : "", token: "t1")
      #expect(reply.status == 403 && reply.body.contains("PERMISSION_DENIED"), "\(line)")
    }
    // A page token that names a document tells nobody of it who may not list.
    let long = #"{"fields":{"f":{"stringValue":"\#(String(repeating: "x", count: 20_000))"}}}"#
    for id in ["a", "b"] { #expect(await open.ask("PATCH /l/\(id)", long).status == 200) }
    let first = await open.ask("GET /l?pageSize=1&orderBy=f")
    let page = "GET /l?orderBy=f&pageToken=\(DocumentRESTClient.text("nextPageToken", first))"
    #expect(await open.ask(page).status == 200)
    #expect(await closed.ask(page, token: "t1").status == 403)
    #expect(await closed.ask("PATCH /l/a", long, token: "root").status == 200)
    #expect(await closed.ask(page, token: "t1").status == 403)
    #expect(await closed.ask(page, token: "root").body.contains("FAILED_PRECONDITION"))
    let reset = "DELETE /emulator/v1/\(DocumentRESTClient.root)"
    #expect(await closed.raw(reset, token: "t1").status == 403)
    #expect(await closed.ask("GET /r/a", token: "root").status == 200)
    #expect(await closed.raw(reset, token: "root").status == 200)
    #expect(await closed.ask("GET /r/a", token: "root").status == 404)
  }
}
