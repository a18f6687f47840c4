import ConiferQuery
import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Testing

/// No answer of REST tells of data that may not be read.
@Suite struct RESTSecrecyTests {
  private let admin = ["authorization": "Bearer boss"]

  private func client(_ data: Node) -> RESTClient {
    let tokens = TokenTable(["boss": VerifiedToken(uid: "", isAdmin: true)])
    let rules = ClosureRules(
      read: { target, _ in
        target.path.first == "public" || target.path == "list" && !target.spec.loadsAllData
      },
      write: { path, _, _ in path.first == "public" || path.first == "box" })
    let client = RESTClient(
      ServerConfiguration(authenticator: tokens, rules: rules),
      RESTConfiguration(bearers: .verified))
    client.server.set(.root, data, in: "default")
    return client
  }

  static let states: [Node] = [
    [:], ["secret": ["u1": 7], "box": ["u1": 7, "n": 41], "list": ["a": 1]],
    ["secret": ["u1": ["n": 5]], "box": ["u1": ["n": 3], "n": "x"], "list": ["b": ["c": 2]]],
  ]

  static let requests: [(String, String, [String: String])] = [
    ("PUT /secret/u1/.priority.json", "1", [:]), ("DELETE /secret/u1/.priority.json", "", [:]),
    ("PATCH /secret/u1.json", #"{".priority":1}"#, [:]), ("DELETE /secret/u1.json", "", [:]),
    ("PUT /secret/u1.json", #"{".sv":{"increment":0}}"#, [:]),
    ("PUT /secret/u1.json", "1", ["if-match": "null_etag"]),
    ("DELETE /secret/u1.json", "", ["if-match": "x"]),
    ("GET /secret/u1.json", "", ["if-none-match": "x"]),
    ("GET /secret/u1.json?shallow=true", "", ["x-firebase-etag": "true"]),
    ("GET /secret.json", "", ["accept": "text/event-stream"]),
    ("PUT /box/u1.json", "1", ["if-match": "null_etag"]),
    ("DELETE /box/u1.json", "", ["if-match": "x"]),
    ("PUT /box/u1/.priority.json", "1", [:]), ("PATCH /box/u1.json", #"{".priority":1}"#, [:]),
    ("PUT /box/n.json", #"{".sv":{"increment":0}}"#, [:]),
    ("PUT /box/n.json", #"{".sv":{"increment":0}}"#, ["x-firebase-etag": "true"]),
    ("PUT /box.json", #"{"n":{".sv":{"increment":0}}}"#, ["x-firebase-etag": "true"]),
    ("PATCH /box.json", #"{"n":{".sv":{"increment":0}},"m":1}"#, [:]),
    ("POST /box/n.json", #"{".sv":{"increment":0}}"#, ["x-http-method-override": "PUT"]),
    ("POST /box.json", #"{"n":{".sv":{"increment":0}}}"#, ["x-http-method-override": "PATCH"]),
    (#"GET /list.json?orderBy="$key"&equalTo="zz""#, "", [:]),
  ]

  @Test func `An answer is the same whatever is there that may not be read`() async {
    for (line, body, headers) in Self.requests {
      var replies: [RESTReply] = []
      for state in Self.states { replies.append(await client(state).ask(line, body, headers)) }
      for reply in replies {
        #expect(reply.status == replies[0].status, "\(line) \(body)")
        #expect(reply.body == replies[0].body, "\(line) \(body)")
        #expect(reply.headers == replies[0].headers, "\(line) \(body)")
      }
    }
  }

  @Test func `What the server makes of a value is told to who may read it`() async {
    let client = client(["box": ["n": 41], "public": ["n": 41]])
    let plus = #"{".sv":{"increment":0}}"#
    #expect(await client.ask("PUT /public/n.json", plus).body == "41")
    #expect(await client.ask("PUT /box/n.json", plus).body == plus)
    #expect(await client.ask("PUT /box/n.json", plus, admin).body == "41")
    #expect(
      await client.ask("PATCH /box.json", #"{"n":\#(plus),"m":1}"#).body
        == #"{"n":\#(plus),"m":1}"#)
    #expect(await client.ask("POST /box.json", plus).body.hasPrefix(#"{"name":"-"#))
  }

  @Test func `A script never carries what an administrator may read`() async {
    let client = client(["secret": 7, "public": 1])
    for line in [
      "GET /secret.json?callback=f&access_token=boss", "GET /secret.json?callback=f&auth=boss",
      "GET /public.json?callback=f&auth=boss",
      "GET /public.json?callback=f&auth=boss&auth_variable_override=null",
    ] {
      let reply = await client.ask(line)
      #expect(reply.status == 403, "\(line): \(reply.body)")
    }
    #expect(await client.ask("GET /secret.json?callback=f", "", admin).status == 403)
    #expect(await client.ask("GET /secret.json?callback=f").status == 401)
    #expect(await client.ask("GET /public.json?callback=f").body == "/**/f(1);")
    #expect(await client.ask("GET /secret.json?callback=", "", admin).body == "7")
    // Every bearer is the administrator where nobody checks.
    let open = RESTClient(ServerConfiguration(), RESTConfiguration(bearers: .administrators))
    #expect(await open.ask("GET /a.json?callback=f&access_token=anything").status == 403)
  }

  @Test func `The keys of what is too large for an answer are told`() async {
    let client = RESTClient(ServerConfiguration(), RESTConfiguration(answer: 2000))
    let large = Node(.string(String(repeating: "x", count: 1500)))
    client.server.set("a", ["x": ["y": large, "z": large], "w": large], in: "default")
    #expect(await client.ask("GET /a.json").status == 413)
    #expect(await client.ask("GET /a.json?shallow=true").body == #"{"w":true,"x":true}"#)
    #expect(await client.ask("GET /.json?shallow=true").body == #"{"a":true}"#)
    // The keys themselves are bounded too, and so is a leaf.
    client.server.set(
      "many", Node(children: (0..<500).map { (Key("k\($0)"), 1) }), in: "default")
    #expect(await client.ask("GET /many.json?shallow=true").status == 413)
    client.server.set(
      "leaf", Node(.string(String(repeating: "x", count: 3000))), in: "default")
    #expect(await client.ask("GET /leaf.json?shallow=true").status == 413)
  }
}
