import ConiferServer
import ConiferTree
import Testing

@testable import ConiferServerHTTP

@Suite(.timeLimit(.minutes(10))) struct EventStreamTests {
  private let client = RESTClient(
    ServerConfiguration(), RESTConfiguration(keepAlive: .seconds(3600)))
  private let accept = ["accept": "text/event-stream", "cache-control": "no-cache"]

  /// Reads events one by one.
  private struct Reader {
    var iterator: AsyncStream<[UInt8]>.Iterator
    var events: [String] = []

    init(_ reply: RESTReply) throws {
      iterator = try #require(reply.stream).makeAsyncIterator()
    }

    /// The next event; nil when the stream has ended.
    mutating func next() async -> String? {
      while events.isEmpty {
        guard let bytes = await iterator.next() else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("\n\n"))
        events = text.split(separator: "\n\n").map(String.init)
      }
      return events.removeFirst()
    }
  }

  private func put(_ path: String, _ data: String) -> String {
    "event: put\ndata: {\"path\":\"\(path)\",\"data\":\(data)}"
  }

  private func patch(_ path: String, _ data: String) -> String {
    "event: patch\ndata: {\"path\":\"\(path)\",\"data\":\(data)}"
  }

  @Test func `A stream begins with the data and tells every change`() async throws {
    let reply = await client.ask("GET /.json?ns=demo", "", accept)
    #expect(reply.status == 200)
    #expect(reply.headers["content-type"] == "text/event-stream; charset=utf-8")
    #expect(reply.headers["cache-control"] == "no-cache")
    var reader = try Reader(reply)
    #expect(await reader.next() == put("/", "null"))
    let writes: [(String, String, String)] = [
      (
        "PUT /users/ada.json", #"{"name":"A\nda"}"#, put("/users/ada", #"{"name":"A\nda"}"#)
      ),
      (
        "PATCH /users/ada.json", #"{"born":1816,"meta/k":true}"#,
        patch("/users/ada", #"{"born":1816,"meta/k":true}"#)
      ),
      ("PUT /users/ada/n.json", #"{".sv":{"increment":2}}"#, put("/users/ada/n", "2")),
      (
        "PUT /users/ada/name.json", #"{".value":"x",".priority":3}"#,
        put("/users/ada/name", "\"x\"")
      ),
      ("DELETE /users.json", "", put("/users", "null")),
      ("PUT /.json", "[1,null,3]", put("/", "[1,null,3]")),
    ]
    for (line, body, event) in writes {
      #expect(await client.ask("\(line)?ns=demo", body).status == 200)
      #expect(await reader.next() == event, "\(line) \(body)")
    }
    let pushed = await client.ask("POST /users.json?ns=demo", #""""#)
    let name = try Node(json: pushed.body)["name" as Key].leaf
    guard case .string(let key)? = name else { return #expect(Bool(false)) }
    #expect(await reader.next() == put("/users/\(key)", "\"\""))
  }

  @Test func `Paths are told from the place that is listened to`() async throws {
    client.server.set("a/b", ["c": 1], in: "default")
    var reader = try Reader(await client.ask("GET /a/b.json", "", accept))
    #expect(await reader.next() == put("/", #"{"c":1}"#))
    client.server.set("a/b/c", 2, in: "default")
    client.server.set("a/x", 2, in: "default")
    client.server.set("a", ["b": 7], in: "default")
    #expect(await client.ask("PATCH /.json", #"{"a/b/d":1,"a/b/e":2,"z":3}"#).status == 200)
    #expect(await reader.next() == put("/c", "2"))
    #expect(await reader.next() == put("/", "7"))
    #expect(await reader.next() == patch("/", #"{"d":1,"e":2}"#))
  }

  @Test func `Priorities are told only in the form that shows them`() async throws {
    client.server.set("a", ["x": 1, "y": 1], in: "default")
    var plain = try Reader(await client.ask("GET /a.json", "", accept))
    var export = try Reader(await client.ask("GET /a.json?format=export", "", accept))
    #expect(await plain.next() == put("/", #"{"x":1,"y":1}"#))
    #expect(await export.next() == put("/", #"{"x":1,"y":1}"#))
    #expect(await client.ask("PUT /a/x/.priority.json", "5").status == 200)
    #expect(await client.ask("PATCH /a.json", #"{"x/.priority":6,"y":2}"#).status == 200)
    #expect(await plain.next() == patch("/", #"{"y":2}"#))
    #expect(await export.next() == put("/x/.priority", "5"))
    #expect(await export.next() == patch("/", #"{"y":2,"x/.priority":6}"#))
  }

  @Test func `A filtered stream tells what comes and goes`() async throws {
    client.server.set("s", ["a": 1, "b": 2, "c": 3], in: "default")
    let query = "orderBy=%22$value%22&limitToLast=2"
    var reader = try Reader(await client.ask("GET /s.json?\(query)", "", accept))
    #expect(await reader.next() == put("/", #"{"b":2,"c":3}"#))
    client.server.set("s/a", 0, in: "default")
    client.server.set("s/d", 4, in: "default")
    #expect(await reader.next() == patch("/", #"{"b":null,"d":4}"#))
    client.server.set("s/d", 5, in: "default")
    #expect(await reader.next() == put("/d", "5"))
    client.server.set("s/c", .empty, in: "default")
    #expect(await reader.next() == patch("/", #"{"b":2,"c":null}"#))
  }

  @Test func `A silent stream is kept alive`() async throws {
    let client = RESTClient(
      ServerConfiguration(), RESTConfiguration(keepAlive: .milliseconds(5)))
    var reader = try Reader(await client.ask("GET /a.json", "", accept))
    #expect(await reader.next() == put("/", "null"))
    for _ in 0..<3 { #expect(await reader.next() == "event: keep-alive\ndata: null") }
    client.server.set("a", 1, in: "default")
    var event = await reader.next()
    while event == "event: keep-alive\ndata: null" { event = await reader.next() }
    #expect(event == put("/", "1"))
  }

  @Test func `A stream that the rules no longer allow is cancelled`() async throws {
    var reader = try Reader(await client.ask("GET /a.json", "", accept))
    #expect(await reader.next() == put("/", "null"))
    client.server.set("a", 1, in: "default")
    client.server.setRules(ClosureRules(read: { _, _ in false }), in: "default")
    client.server.set("a", 2, in: "default")
    #expect(await reader.next() == put("/", "1"))
    #expect(await reader.next() == "event: cancel\ndata: null")
    #expect(await reader.next() == nil)
    #expect(client.server.sessions(in: "default").isEmpty)
  }

  @Test func `A stream whose token's time is over is told so, and ends`() async throws {
    let clock = ServerClock(stoppedAt: 1000)
    let tokens = TokenTable(["t": VerifiedToken(uid: "ada", expires: 2000)])
    let client = RESTClient(ServerConfiguration(authenticator: tokens, clock: clock))
    var reader = try Reader(await client.ask("GET /a.json?auth=t", "", accept))
    #expect(await reader.next() == put("/", "null"))
    clock.advance(by: 999)
    client.server.tick()
    client.server.set("a", 1, in: "default")
    #expect(await reader.next() == put("/", "1"))
    clock.advance(by: 1)
    client.server.tick()
    client.server.set("a", 2, in: "default")
    #expect(await reader.next() == "event: auth_revoked\ndata: credential is no longer valid")
    #expect(await reader.next() == nil)
    #expect(client.server.sessions(in: "default").isEmpty)
  }

  @Test func `A session ends with its stream, whoever ends it`() async throws {
    var reader: Reader? = try Reader(await client.ask("GET /a.json", "", accept))
    #expect(await reader?.next() == put("/", "null"))
    #expect(client.server.sessions(in: "default").count == 1)
    reader = nil
    #expect(client.server.sessions(in: "default").isEmpty)

    let unread = await client.ask("GET /a.json", "", accept)
    #expect(unread.stream != nil)
    #expect(client.server.sessions(in: "default").count == 1)
    client.server.disconnectAll(in: "default")
    var rest = try Reader(unread)
    #expect(await rest.next() == put("/", "null"))
    #expect(await rest.next() == nil)

    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let reply = await client.ask("GET /a.json", "", accept)
    let task = Task {
      var reader = try Reader(reply)
      let first = await reader.next()
      begin.yield()
      return (first, await reader.next())
    }
    for await _ in begun { break }
    task.cancel()
    #expect(try await task.value == (put("/", "null"), nil))
    #expect(client.server.sessions(in: "default").isEmpty)
  }

  @Test func `Who reads too slowly is ended, and nobody waits`() async throws {
    let client = RESTClient(
      ServerConfiguration(), RESTConfiguration(keepAlive: .seconds(3600), backlog: 100_000))
    client.server.set("big", Node(.string(String(repeating: "x", count: 200_000))), in: "default")
    var slow = try Reader(await client.ask("GET /.json", "", accept))
    var fast = try Reader(await client.ask("GET /a.json", "", accept))
    // However large, the first news is sent.
    #expect(await slow.next()?.utf8.count ?? 0 > 200_000)
    #expect(await fast.next() == put("/", "null"))
    let text = String(repeating: "y", count: 10_000)
    for number in 0..<30 {
      client.server.set("a", Node(.string("\(number)\(text)")), in: "default")
      #expect(await fast.next() == put("/", "\"\(number)\(text)\""))
    }
    #expect(await slow.next() == nil)
    // The session ends beside the writes.
    for _ in 0..<100_000 where client.server.sessions(in: "default").count > 1 {
      await Task.yield()
    }
    #expect(client.server.sessions(in: "default").count == 1)
    client.server.set("a", 1, in: "default")
    #expect(await fast.next() == put("/", "1"))
  }

  @Test func `All readers that are too slow let no more wait together than they may`() async throws
  {
    let client = RESTClient(
      ServerConfiguration(),
      RESTConfiguration(keepAlive: .seconds(3600), backlog: 1 << 30, backlogs: 100_000))
    var readers: [Reader] = []
    for _ in 0..<5 { readers.append(try Reader(await client.ask("GET /a.json", "", accept))) }
    for index in readers.indices { #expect(await readers[index].next() == put("/", "null")) }
    let text = String(repeating: "y", count: 10_000)
    for number in 0..<30 {
      client.server.set("a", Node(.string("\(number)\(text)")), in: "default")
    }
    // The sessions end beside the writes.
    for _ in 0..<100_000 where client.server.sessions(in: "default").count > 1 {
      await Task.yield()
    }
    #expect(client.server.sessions(in: "default").count <= 1)
    #expect(client.responder.backlogs.bytes <= 100_000)
    readers = []
    for _ in 0..<100_000 where client.responder.backlogs.bytes > 0 { await Task.yield() }
    #expect(client.responder.backlogs.bytes == 0)
  }

  @Test func `A stream follows many writers, in order and without a gap`() async throws {
    let writers = 8
    let count = 100
    var reader = try Reader(await client.ask("GET /n.json", "", accept))
    #expect(await reader.next() == put("/", "null"))
    let client = client
    async let writing: Void = withTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for number in 1...count { _ = await client.ask("PUT /n/w\(writer).json", "\(number)") }
        }
      }
    }
    var last = [Int](repeating: 0, count: writers)
    for _ in 0..<writers * count {
      let event = try #require(await reader.next())
      let data = try Node(json: String(event.split(separator: "data: ")[1]))
      guard case .string(let path)? = data["path" as Key].leaf,
        let writer = Int(path.dropFirst(2)), case .integer(let number)? = data["data" as Key].leaf
      else {
        Issue.record("\(event)")
        continue
      }
      #expect(Int(number) == last[writer] + 1)
      last[writer] = Int(number)
    }
    await writing
    #expect(last == [Int](repeating: count, count: writers))
  }

  @Test func `Only a GET that asks for events gets them`() async {
    for (line, header) in [
      ("PUT /a.json", "text/event-stream"), ("GET /a.json", "*/*"),

      ("GET /a.json", "application/json"),
    ] {
      #expect(await client.ask(line, "1", ["accept": header]).stream == nil)
    }
    for header in ["text/event-stream;q=1", "application/json, Text/Event-Stream"] {
      #expect(await client.ask("GET /a.json", "", ["accept": header]).stream != nil)
    }
    for query in ["shallow=true", "limitToFirst=1", "orderBy=x"] {
      #expect(await client.ask("GET /a.json?\(query)", "", accept).status == 400)
    }
  }
}
