import ConiferServer
import ConiferServerHTTP
import ConiferStorage
import ConiferTree
import Testing

@Suite struct RESTErrorTests {
  private let client = RESTClient(
    ServerConfiguration(limits: ServerLimits(write: 1000)),
    RESTConfiguration(body: 100_000, answer: 20_000))

  @Test(
    arguments: [
      ("GET /users", 404, "append .json"),
      ("PUT /users/ada", 404, "append .json"), ("GET /users%2Ejson", 404, "append .json"),
      ("GET /.settings/owner.json", 404, "no such setting"),
      ("GET /.settings/owner", 404, "no such setting"),
      ("GET /.settings/../x.json", 404, "no such setting"),
      ("TRACE /a.json", 405, "must be GET, HEAD, PUT"),
      ("get /a.json", 405, "must be GET, HEAD, PUT"),
      ("POST /a.json?x-http-method-override=TRACE", 405, "must be GET, HEAD, PUT"),
      ("POST /.settings/rules.json", 405, "must be GET or PUT"),
      ("GET /a.b/c.json", 400, "Invalid path"), ("GET /a%2Fb.json", 400, "Invalid path"),
      ("GET /../etc/passwd.json", 400, "Invalid path"), ("GET /./a.json", 400, "Invalid path"),
      ("GET /%2e%2e/a.json", 400, "Invalid path"), ("GET /a%00b.json", 400, "Invalid path"),
      ("GET /a%7Fb.json", 400, "Invalid path"), ("GET /a%5Bb.json", 400, "Invalid path"),
      ("GET /a%.json", 400, "Invalid path"), ("GET /a%f.json", 400, "Invalid path"),
      ("GET /a%zz.json", 400, "Invalid path"), ("GET /%ff.json", 400, "Invalid path"),
      ("GET /%C3.json", 400, "Invalid path"), ("GET /%ED%A0%80.json", 400, "Invalid path"),
      ("GET /%C0%AF.json", 400, "Invalid path"), ("GET /.info/connected.json", 400, "Invalid path"),
      ("GET /.priority/a.json", 400, "Invalid path"), ("GET /$key.json", 400, "Invalid path"),
      ("GET /a.json?timeout=", 400, "timeout must"),
      ("GET /a.json?timeout=10", 400, "timeout must"),
      ("GET /a.json?timeout=0s", 400, "timeout must"),
      ("GET /a.json?timeout=1h", 400, "timeout must"),
      ("GET /a.json?timeout=16min", 400, "timeout must"),
      ("GET /a.json?timeout=-1s", 400, "timeout must"),
      ("GET /a.json?timeout=1.5s", 400, "timeout"),
      ("GET /a.json?timeout=99999999999999999999s", 400, "timeout must"),
      ("PUT /a.json?writeSizeLimit=huge", 400, "writeSizeLimit must"),
      ("GET /a.json?callback=alert(1)//", 400, "callback must"),
      ("GET /a.json?callback=%3Cscript%3E", 400, "callback must"),
      ("GET /a.json?callback=1", 400, "callback must"),
    ] as [(String, Int, String)])
  func `A request that cannot be done is refused`(
    line: String, status: Int, words: String
  ) async {
    let reply = await client.ask(line, "1")
    #expect(reply.status == status, "\(line)")
    #expect(reply.error?.contains(words) == true, "\(line): \(reply.body)")
    #expect(reply.headers["content-type"] == "application/json; charset=utf-8")
    let allowed =
      line.contains(".settings")
      ? "GET, HEAD, PUT, OPTIONS" : "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS"
    #expect(reply.headers["allow"] == (status == 405 ? allowed : nil))
    #expect(client.server.data(in: "default").isEmpty)
  }

  @Test(
    arguments: [
      ("PUT /a.json", "", "couldn't parse JSON object, array, or value"),
      ("POST /a.json", "", "couldn't parse JSON object, array, or value"),
      ("PUT /a.json", "{", "couldn't parse JSON object, array, or value"),
      ("PUT /a.json", "{'a':1}", "Line 1, column 2"), ("PUT /a.json", "1 2", "couldn't parse"),
      ("PUT /a.json", "NaN", "couldn't parse"), ("PUT /a.json", "1e999", "couldn't parse"),
      ("PUT /a.json", "\"\u{1}\"", "couldn't parse"),
      ("PUT /a.json", "\"\\ud800\"", "couldn't parse"),
      ("PUT /a.json", #"{"":1}"#, "couldn't parse"), ("PUT /a.json", #"{"a.b":1}"#, "a.b"),
      ("PUT /a.json", #"{"a/b":1}"#, "a/b"), ("PUT /a.json", #"{".foo":1}"#, "couldn't parse"),
      ("PUT /a.json", #"{".sv":"timestamp","b":1}"#, "couldn't parse"),
      ("PUT /a.json", #"{".sv":"nothing"}"#, "server value"),
      ("PUT /a.json", #"{".value":1,"b":2}"#, "couldn't parse"),
      ("PUT /a.json", #"{"b":1,".priority":true}"#, "couldn't parse"),
      ("PUT /none/.priority.json", "7", "has no data"),
      ("PUT /a/.priority.json", "true", "priority"),
      ("POST /a/.priority.json", "1", ".priority"),
      ("PATCH /a.json", "", "couldn't parse JSON object."),
      ("PATCH /a.json", "7", "valid key names?"),
      ("PATCH /a.json", "[1]", "valid key names?"),
      ("PATCH /a.json", #"{"b":1"#, "valid key names?"),
      ("PATCH /a.json", #"{"":1}"#, "names no child"),
      ("PATCH /a.json", #"{"/":1}"#, "names no child"),
      ("PATCH /a.json", #"{"b.c":1}"#, "b.c"),
      ("PATCH /a.json", #"{"../b":1}"#, "valid key names?"),
      ("PATCH /a.json", #"{"b":1,"b/c":2}"#, "the same place or below it"),
      ("PATCH /a.json", #"{"b":1,"b":2}"#, "the same place or below it"),
      ("PATCH /a.json", #"{"b":{"x.y":1}}"#, "x.y"), ("PATCH /a.json", #"{".value":1}"#, ".value"),
      ("PATCH /a.json", #"{"b":1} {}"#, "valid key names?"),
    ] as [(String, String, String)])
  func `A body that is no data is refused, and nothing written`(
    line: String, body: String, words: String
  ) async {
    let reply = await client.ask(line, body)
    #expect(reply.status == 400, "\(line) \(body): \(reply.body)")
    #expect(reply.error?.contains(words) == true, "\(line) \(body): \(reply.body)")
    #expect(client.server.data(in: "default").isEmpty)
  }

  @Test func `Deep, long and large ones are refused`() async {
    func nested(_ depth: Int) -> String {
      String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    }
    let letters = String(repeating: "a", count: 768)
    let cases: [(String, String, Int)] = [
      ("GET \(String(repeating: "/a", count: 32)).json", "", 200),
      ("GET \(String(repeating: "/a", count: 33)).json", "", 400),
      ("GET /\(letters.dropLast()).json", "", 200),
      ("GET /\(letters).json", "", 400),
      ("GET /\(String(repeating: "%61", count: 767)).json", "", 200),
      ("GET \(String(repeating: "/", count: 5000)).json", "", 400),
      ("PUT /a.json", nested(31), 200), ("PUT /a.json", nested(32), 400),
      ("PUT /a.json", nested(5000), 400), ("PUT /a.json", String(repeating: "[", count: 9000), 400),
      ("PATCH /a.json", nested(32), 400),
      // Larger than a session's write, which REST is not bound to.
      ("PUT /b.json", #"{"x":"\#(String(repeating: "x", count: 30_000))"}"#, 200),
      ("GET /b.json", "", 413), ("GET /b.json?shallow=true", "", 200), ("GET /b/x.json", "", 413),
      ("PUT /b.json", "\"\(String(repeating: "x", count: 100_000))\"", 413),
    ]
    for (line, body, status) in cases {
      let reply = await client.ask(line, body)
      #expect(
        reply.status == status, "\(line.prefix(60)) \(body.prefix(60)): \(reply.body.prefix(99))")
    }
  }

  @Test func `A write is as large as its limit allows`() async {
    let client = RESTClient()
    let text = #""\#(String(repeating: "x", count: 2 << 20))""#
    let tiny = await client.ask("PUT /a.json?writeSizeLimit=tiny", text)
    #expect(tiny.status == 400)
    #expect(tiny.error?.hasPrefix("Data to write exceeds the maximum size") == true)
    for limit in ["small", "medium", "large", "unlimited"] {
      let reply = await client.ask("PUT /a.json?print=silent&writeSizeLimit=\(limit)", text)
      #expect(reply.status == 204)
    }
  }

  @Test func `A write that the store does not take is no success`() async throws {
    var options = StorageOptions()
    options.role = .authority
    let backend = try MemoryBackend.open(MemoryStore(), name: "memory", options: options)
    try await client.server.open("stored", in: backend)
    #expect(await client.ask("PUT /a.json?ns=stored", "1").status == 200)
    try await backend.close()
    let reply = await client.ask("PUT /a.json?ns=stored", "2")
    #expect(reply.status == 503)
    #expect(reply.error?.contains("cannot store") == true)
    #expect(await client.ask("GET /a.json?ns=stored").body == "1")
  }

  @Test func `Paths of others are left to them`() async {
    for path in ["/", "/.ws", "/.lp", "/.health", "/.conifer/page.js", "/.settings"] {
      let request = HTTPRequest(method: "GET", path: path)
      #expect(await client.responder.respond(to: request)?.status == nil, "\(path)")
    }
  }
}
