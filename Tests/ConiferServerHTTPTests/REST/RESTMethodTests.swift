import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Testing

@Suite struct RESTMethodTests {
  private let client = RESTClient(
    ServerConfiguration(clock: ServerClock(stoppedAt: 1_700_000_000_000)))

  @Test func `Requests of the Python client are answered as the record says`() async {
    let ns = "ns=demo-py"
    let owner = ["authorization": "Bearer owner"]
    let exchanges: [(String, String, Int, String)] = [
      (
        "PUT /users/ada.json?print=silent&\(ns)", #"{"name": "Ada", "born": 1815, "tags": ["x"]}"#,
        204, ""
      ),
      ("GET /users/ada.json?\(ns)", "", 200, #"{"born":1815,"name":"Ada","tags":["x"]}"#),
      ("GET /users.json?shallow=true&\(ns)", "", 200, #"{"ada":true}"#),
      (
        "PATCH /users/ada.json?print=silent&\(ns)", #"{"born": 1816, "meta/k": true}"#, 204, ""
      ),
      (
        "GET /users/ada.json?\(ns)", "", 200,
        #"{"born":1816,"meta":{"k":true},"name":"Ada","tags":["x"]}"#
      ),
      ("DELETE /users/ada.json?\(ns)", "", 200, "null"),
      ("GET /users/ada.json?\(ns)", "", 200, "null"),
      ("GET /.json?\(ns)", "", 200, "null"),
    ]
    for (line, body, status, answer) in exchanges {
      let reply = await client.ask(line, body, owner)
      #expect(reply.status == status, "\(line)")
      #expect(reply.body == answer, "\(line)")
      if status == 200 {
        #expect(reply.headers["content-type"] == "application/json; charset=utf-8")
      } else {
        #expect(reply.headers["content-type"] == nil)
      }
    }
    #expect(client.server.data(in: "demo-py").isEmpty)
  }

  @Test func `A push names the child that it made, later ones behind`() async throws {
    var names: [Key] = []
    for body in [#"{"name": "Bob"}"#, #""""#, "3", "null"] {
      let reply = await client.ask("POST /users.json", body)
      #expect(reply.status == 200)
      let answer = try Node(json: reply.body)
      #expect(answer.childCount == 1)
      guard case .string(let name)? = answer["name" as Key].leaf else {
        Issue.record("no name in \(reply.body)")
        continue
      }
      #expect(name.utf8.count == 20)
      names.append(Key(name))
    }
    #expect(names == names.sorted())
    let users = client.server.data("users", in: "default")
    #expect(users[names[0]] == ["name": "Bob"])
    #expect(users[names[1]] == "")
    #expect(users[names[2]] == 3)
    #expect(users.childCount == 3)
  }

  @Test func `A write is answered with what it wrote, server values resolved`() async {
    let exchanges: [(String, String, String)] = [
      ("PUT /a.json", #"{"n":1,"t":{".sv":"timestamp"}}"#, #"{"n":1,"t":1700000000000}"#),
      ("PUT /a/n.json", #"{".sv":{"increment":4}}"#, "5"),
      (
        "PATCH /a.json", #"{"n":{".sv":{"increment":2}},"b/c":[1,null,3],"t":null}"#,
        #"{"n":7,"b/c":[1,null,3],"t":null}"#
      ),
      ("PATCH /a.json", "{}", "{}"),
      ("GET /a.json", "", #"{"b":{"c":[1,null,3]},"n":7}"#),
      ("PUT /a.json", #"{".value":"v",".priority":"p"}"#, #""v""#),
      ("GET /a.json?format=export", "", #"{".value":"v",".priority":"p"}"#),
      ("PUT /a/.priority.json", "7", "7"),
      ("GET /a/.priority.json", "", "7"),
      ("GET /a.json?format=export", "", #"{".value":"v",".priority":7}"#),
      (
        "PUT /a.json?format=export", #"{"k":{".value":1,".priority":2}}"#,
        #"{"k":{".value":1,".priority":2}}"#
      ),
      ("PATCH /a.json", #"{"k/.priority":null}"#, #"{"k/.priority":null}"#),
      ("GET /a.json?format=export", "", #"{"k":1}"#),
      ("PUT /a.json", "null", "null"),
      ("GET /.json", "", "null"),
    ]
    for (line, body, answer) in exchanges {
      let reply = await client.ask(line, body)
      #expect(reply.status == 200, "\(line) \(body): \(reply.body)")
      #expect(reply.body == answer, "\(line) \(body)")
    }
  }

  @Test func `Answers are laid out, silent, shallow or kept as the parameters say`() async {
    client.server.set(
      .root, ["a": ["b": ["c": 1], "d": "x"], "list": ["0": 1, "1": 2], "leaf": 5], in: "default")
    let exchanges: [(String, Int, String)] = [
      ("GET /a.json?print=pretty", 200, "{\n  \"b\": {\n    \"c\": 1\n  },\n  \"d\": \"x\"\n}"),
      ("GET /a.json?print=silent", 204, ""),
      ("GET /a.json?shallow=true", 200, #"{"b":true,"d":true}"#),
      ("GET /a.json?shallow=true&print=pretty", 200, "{\n  \"b\": true,\n  \"d\": true\n}"),
      ("GET /list.json", 200, "[1,2]"),
      ("GET /list.json?shallow=true", 200, #"{"0":true,"1":true}"#),
      ("GET /list.json?format=export", 200, #"{"0":1,"1":2}"#),
      ("GET /leaf.json?shallow=true", 200, "5"),
      ("GET /none.json?shallow=true", 200, "null"),
      ("GET /a.json?shallow=false", 200, #"{"b":{"c":1},"d":"x"}"#),
      ("GET //a///d/.json", 200, #""x""#),
      ("GET /%61/%64.json", 200, #""x""#),
      ("GET /leaf.json?timeout=900s", 200, "5"),
      ("GET /leaf.json?timeout=90000ms", 200, "5"),
      ("GET /leaf.json?timeout=15min", 200, "5"),
      ("GET /leaf.json?callback=gotData", 200, "/**/gotData(5);"),
      ("GET /leaf.json?callback=app.handlers[0]", 200, "/**/app.handlers[0](5);"),
      ("PUT /leaf.json?callback=gotData", 400, ""),
    ]
    for (line, status, answer) in exchanges {
      let reply = await client.ask(line)
      #expect(reply.status == status, "\(line)")
      if status != 400 { #expect(reply.body == answer, "\(line)") }
    }
    let script = await client.ask("GET /leaf.json?callback=f")
    #expect(script.headers["content-type"] == "application/javascript; charset=utf-8")
    let file = await client.ask("GET /leaf.json?download=../my%0D%0A%22file%22.json")
    #expect(
      file.headers["content-disposition"] == "attachment; filename=\".._my___file_.json\"")
  }

  @Test func `A read that is not ready in its time is refused`() async {
    // So much that no machine reads and writes it in a millisecond.
    let text = Node(.string(String(repeating: "x", count: 8 << 20)))
    for number in 0..<4 { client.server.set(Path("big/k\(number)"), text, in: "default") }
    let reply = await client.ask("GET /big.json?timeout=1ms")
    #expect(reply.status == 400)
    #expect(reply.body.contains("timeout"), "\(reply.body.prefix(100))")
    let patient = await client.ask("GET /big.json?timeout=15min")
    #expect(patient.status == 200)
    #expect(patient.body.utf8.count > 32 << 20)
  }

  @Test func `A POST may stand for another method`() async {
    client.server.set("a", ["x": 1, "y": 2], in: "default")
    let exchanges: [(String, String, [String: String], String)] = [
      ("POST /a/x.json", "5", ["x-http-method-override": "PUT"], "5"),
      ("POST /a.json?x-http-method-override=patch", #"{"z":3}"#, [:], #"{"z":3}"#),
      ("POST /a.json", "", ["x-http-method-override": "GET"], #"{"x":5,"y":2,"z":3}"#),
      ("POST /a/y.json", "", ["x-http-method-override": "DELETE"], "null"),
      ("GET /a.json", "", ["x-http-method-override": "DELETE"], #"{"x":5,"z":3}"#),
    ]
    for (line, body, headers, answer) in exchanges {
      let reply = await client.ask(line, body, headers)
      #expect(reply.status == 200, "\(line)")
      #expect(reply.body == answer, "\(line)")
    }
  }

  @Test func `A request is for the database that it names`() async {
    #expect(await client.ask("PUT /a.json?ns=one", "1").status == 200)
    #expect(await client.ask("PUT /a.json?ns=two", "2").status == 200)
    #expect(await client.ask("GET /a.json?ns=one").body == "1")
    #expect(await client.ask("GET /a.json").body == "null")
    #expect(client.server.data("a", in: "two") == 2)
  }
}
