import ConiferDocument
import ConiferDocumentServer
import ConiferServer
import ConiferServerHTTP
import ConiferWire
import TestSupport
import Testing

/// Who is asked for a token, and whose a transaction is.
@Suite struct DocumentRESTAccessTests {
  private static let table = TokenTable([
    "t1": VerifiedToken(uid: "ada"), "t2": VerifiedToken(uid: "ada"),
    "b": VerifiedToken(uid: "bob"),
  ])

  @Test(
    "Where a token is required, nothing is answered without one",
    arguments: [
      ("GET /r/a", ""), ("GET /r", ""), ("POST /r", "{}"), ("PATCH /r/a", "{}"),
      ("DELETE /r/a", ""), ("POST :commit", #"{"writes":[]}"#),
      ("POST :batchWrite", #"{"writes":[{"delete":"~/r/a"}]}"#),
      ("POST :batchGet", #"{"documents":["~/r/a"]}"#), ("POST :beginTransaction", "{}"),
      ("POST :rollback", #"{"transaction":"AAAA"}"#),
      ("POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}]}}"#),
      (
        "POST :runAggregationQuery",
        #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}]},"aggregations":[{"count":{}}]}}"#
      ),
      ("POST :listCollectionIds", "{}"),
    ] as [(String, String)])
  func required(line: String, body: String) async throws {
    let client = try DocumentRESTClient(
      access: DocumentAccess(verifying: Self.table, requiresToken: true))
    #expect(await client.ask("PATCH /r/a", "{}", token: "t1").status == 200)
    await client.refuses(line, body, 401, "UNAUTHENTICATED", "token")
    let unknown = await client.ask(line, body, token: "t3")
    #expect(unknown.status == 401 && unknown.body.contains("UNAUTHENTICATED"), "\(unknown.body)")
    #expect(await client.ask("GET /r/a", token: "t1").status == 200)
  }

  @Test("Where a token is required, a reset needs one, and so do streams")
  func others() async throws {
    let client = try DocumentRESTClient(
      access: DocumentAccess(verifying: Self.table, requiresToken: true))
    #expect(await client.ask("PATCH /r/a", "{}", token: "t1").status == 200)
    #expect(await client.raw("DELETE /emulator/v1/\(DocumentRESTClient.root)").status == 401)
    #expect(await client.ask("GET /r/a", token: "t1").status == 200)
    let transport = client.server.transport(to: DatabaseID(project: "p"))
    let told = Gathered<String>()
    let stream = transport.service.openWatch(token: nil) { told.add("\($0)") }
    try await eventually("The stream is not told anything.") { !told.all.isEmpty }
    #expect(told.all.first?.contains("closed") == true, "\(told.all)")
    stream.close()
  }

  @Test("A transaction is its user's, whatever token is shown")
  func owners() async throws {
    let client = try DocumentRESTClient(access: DocumentAccess(verifying: Self.table))
    let begun = await client.ask("POST :beginTransaction", "{}", token: "t1")
    let transaction = DocumentRESTClient.text("transaction", begun)
    let read = #"{"documents":["~/r/a"],"transaction":"\#(transaction)"}"#
    let commit = #"{"writes":[{"update":{"name":"~/r/a"}}],"transaction":"\#(transaction)"}"#
    let rollback = #"{"transaction":"\#(transaction)"}"#
    for stranger in ["b", nil] {
      #expect(await client.ask("POST :batchGet", read, token: stranger).status == 400)
      #expect(await client.ask("POST :commit", commit, token: stranger).status == 400)
      #expect(await client.ask("POST :rollback", rollback, token: stranger).status == 200)
    }
    #expect(await client.ask("POST :batchGet", read, token: "t2").status == 200)
    #expect(await client.ask("POST :commit", commit, token: "t2").status == 200)
    #expect(await client.ask("POST :commit", commit, token: "t2").status == 400)
  }

  @Test("One database's transactions leave room for those of others, and one keeps only so much")
  func pools() async throws {
    var bounds = DocumentServerBounds()
    bounds.transactions.ofDatabase = 2
    bounds.transactions.bytesOfOne = 1000
    let client = try DocumentRESTClient(bounds: bounds)
    var ids: [String] = []
    for _ in 0..<2 {
      ids.append(
        DocumentRESTClient.text("transaction", await client.ask("POST :beginTransaction", "{}")))
    }
    await client.refuses("POST :beginTransaction", 429, "RESOURCE_EXHAUSTED", "2 transactions")
    let root = "projects/q/databases/(default)/documents"
    #expect(await client.ask("POST :beginTransaction", "{}", in: root).status == 200)
    await client.expect("POST :rollback", #"{"transaction":"\#(ids[0])"}"#, "{}")
    #expect(await client.ask("POST :beginTransaction", "{}").status == 200)
    let long = (0..<10).map { #""~/r/\#($0)\#(String(repeating: "x", count: 200))""# }
    let read = #"{"documents":[\#(long.joined(separator: ","))],"transaction":"\#(ids[1])"}"#
    await client.refuses("POST :batchGet", read, 429, "RESOURCE_EXHAUSTED", "Read less")
    #expect(await client.ask("POST :beginTransaction", "{}").status == 200)
  }

  @Test("Who may write and not read is told that the write was made, and nothing of the document")
  func writeOnly() async throws {
    let access = DocumentAccess(allows: { user, request in
      if case .write = request { true } else { user?.id == "ada" }
    })
    let client = try DocumentRESTClient(access: access)
    #expect(
      await client.ask(
        "PATCH /r/a", #"{"fields":{"secret":{"integerValue":"1"}}}"#, token: "ada"
      ).body.contains("secret"))
    let reply = await client.ask(
      "PATCH /r/a?updateMask.fieldPaths=n", #"{"fields":{"n":{"integerValue":"2"}}}"#)
    #expect(reply.status == 200 && reply.body.contains("updateTime"), "\(reply.body)")
    #expect(!reply.body.contains("secret"))
    #expect(await client.ask("GET /r/a", token: "ada").body.contains(#""n":{"integerValue":"2"}"#))
  }

  @Test("A write is answered as it was made, whatever others write meanwhile")
  func own() async throws {
    let client = try DocumentRESTClient()
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          for turn in 0..<40 {
            let text = "\(writer)-\(turn)"
            let body = #"{"fields":{"by":{"stringValue":"\#(text)"}}}"#
            let reply = await client.ask("PATCH /r/a", body)
            #expect(reply.body.contains(#""stringValue":"\#(text)""#), "\(reply.body)")
            if turn % 4 == 0 { _ = await client.ask("DELETE /r/a") }
          }
        }
      }
    }
  }
}
