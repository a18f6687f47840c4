import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Testing

@Suite struct RESTTagTests {
  private let client = RESTClient()
  private let asked = ["x-firebase-etag": "true"]

  @Test func `A tag is told when it is asked for, and changes with the data`() async {
    #expect(await client.ask("GET /a.json").tag == nil)
    #expect(await client.ask("GET /a.json", "", asked).tag == "null_etag")
    client.server.set("a", ["x": 1], in: "default")
    let first = await client.ask("GET /a.json", "", asked)
    #expect(first.tag == NodeHash.hash(["x": 1]))
    #expect(await client.ask("GET /a.json", "", ["x-firebase-etag": "false"]).tag == nil)
    client.server.set("a/x", 2, in: "default")
    #expect(await client.ask("GET /a.json", "", asked).tag != first.tag)
    client.server.set("a/x", 1, in: "default")
    #expect(await client.ask("GET /a.json?print=silent", "", asked).tag == first.tag)
    // A part of the data has none.
    #expect(await client.ask("GET /a.json?shallow=true", "", asked).tag == nil)
    #expect(await client.ask("GET /a.json?orderBy=%22$key%22", "", asked).tag == nil)
  }

  @Test func `What is known is not sent again`() async throws {
    client.server.set("a", ["x": 1], in: "default")
    let stale = await client.ask("GET /a.json", "", ["if-none-match": "wrong"])
    #expect(stale.status == 200)
    #expect(stale.body == #"{"x":1}"#)
    let tag = try #require(stale.tag)
    for text in [tag, "\"\(tag)\"", "W/\"\(tag)\""] {
      let same = await client.ask("GET /a.json", "", ["if-none-match": text])
      #expect(same.status == 304)
      #expect(same.body.isEmpty)
      #expect(same.tag == tag)
    }
    #expect(await client.ask("GET /b.json", "", ["if-none-match": "null_etag"]).status == 304)
    #expect(await client.ask("GET /b.json", "", ["if-none-match": ""]).status == 200)
  }

  @Test func `A conditional write is done on the condition alone`() async throws {
    client.server.set("a", ["x": 1], in: "default")
    let tag = try #require(await client.ask("GET /a.json", "", asked).tag)
    let refused: [(String, String, String)] = [
      ("PUT", "2", "wrong"), ("DELETE", "", "wrong"), ("PUT", "2", "null_etag"), ("PUT", "2", ""),
      ("PUT?print=silent", "2", "wrong"),
    ]
    for (method, body, wrong) in refused {
      let line = method.split(separator: "?")
      let query = line.count > 1 ? "?\(line[1])" : ""
      let reply = await client.ask("\(line[0]) /a.json\(query)", body, ["if-match": wrong])
      #expect(reply.status == 412)
      #expect(reply.body == #"{"x":1}"#)
      #expect(reply.tag == tag)
    }
    let put = await client.ask("PUT /a.json", "2", ["if-match": tag])
    #expect(put.status == 200)
    #expect(put.body == "2")
    #expect(put.tag == NodeHash.hash(2))
    let silent = await client.ask("PUT /a.json?print=silent", "3", ["if-match": put.tag ?? ""])
    #expect(silent.status == 204)
    #expect(silent.tag == NodeHash.hash(3))
    let gone = await client.ask("DELETE /a.json", "", ["if-match": "\"\(silent.tag ?? "")\""])
    #expect(gone.status == 200)
    #expect(gone.body == "null")
    #expect(gone.tag == "null_etag")
    let new = await client.ask("PUT /a.json", #"{".sv":"timestamp"}"#, ["if-match": "null_etag"])
    #expect(new.status == 200)
    #expect(new.tag == NodeHash.hash(client.server.data("a", in: "default")))
    #expect(await client.ask("PUT /a.json", "5", asked).tag == NodeHash.hash(5))
    #expect(await client.ask("PUT /a.json", "5").tag == nil)
  }

  @Test func `A condition that does not go with a method is refused, not ignored`() async {
    client.server.set("a", 1, in: "default")
    for (line, header) in [
      ("PATCH /a.json", "if-match"), ("POST /a.json", "if-match"), ("PUT /a.json", "if-none-match"),
      ("DELETE /a.json", "if-none-match"), ("PATCH /a.json", "if-none-match"),
    ] {
      #expect(await client.ask(line, #"{"x":1}"#, [header: "x"]).status == 400, "\(line) \(header)")
    }
    #expect(client.server.data("a", in: "default") == 1)
  }

  @Test func `Whoever may not read learns nothing from a condition`() async {
    client.server.set("a", 1, in: "default")
    client.server.setRules(ClosureRules(read: { _, _ in false }), in: "default")
    for tag in [NodeHash.hash(1), "wrong"] {
      let reply = await client.ask("PUT /a.json", "2", ["if-match": tag])
      #expect(reply.status == 401)
      #expect(reply.tag == nil)
      #expect(reply.body == #"{"error":"Permission denied"}"#)
    }
    #expect(client.server.data("a", in: "default") == 1)
    #expect(await client.ask("PUT /a.json", "2").status == 200)
  }

  @Test func `Transactions of many at once lose nothing`() async {
    let (clients, rounds) = (8, 50)
    let (client, asked) = (client, asked)
    let conflicts = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<clients {
        group.addTask {
          var conflicts = 0
          for _ in 0..<rounds {
            var known = await client.ask("GET /count.json", "", asked)
            while true {
              let next = (Int(known.body) ?? 0) + 1
              await Task.yield()
              let reply = await client.ask(
                "PUT /count.json", "\(next)", ["if-match": known.tag ?? ""])
              if reply.status == 200 { break }
              #expect(reply.status == 412)
              conflicts += 1
              known = reply
            }
          }
          return conflicts
        }
      }
      return await group.reduce(0, +)
    }
    #expect(client.server.data("count", in: "default") == Node(.integer(Int64(clients * rounds))))
    #expect(conflicts > 0, "Nobody was in the way of anybody: the test shows nothing.")
  }
}
