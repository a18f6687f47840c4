import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

/// Texts as clients of others sent them, and as servers answered.
@Suite struct GoldenTests {
  private func query(_ json: String) throws -> QuerySpec { try QuerySpec(json: Array(json.utf8)) }

  private func client(_ text: String) throws -> ClientMessage {
    try ClientMessage(decoding: Array(text.utf8))
  }

  private func server(_ text: String) throws -> ServerMessage {
    try ServerMessage(decoding: Array(text.utf8))
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `Requests of recorded clients are read, and written alike`() throws {
    let cases: [(String, ClientMessage)] = [
      ("0", .keepAlive),
      (#"{"t":"c","d":{"t":"p","d":{}}}"#, .ping),
      (
        #"{"t":"d","d":{"r":1,"a":"s","b":{"c":{"sdk.node.12-18-0":1}}}}"#,
        .request(1, .stats(["sdk.node.12-18-0": 1]))
      ),
      (
        #"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a","d":{"x":1,"y":"two","z":{"0":true,"2":3.5}}}}}"#,
        .request(
          2, .put("a", ["x": 1, "y": "two", "z": ["0": true, "2": 3.5]], hash: nil))
      ),
      (
        #"{"t":"d","d":{"r":3,"a":"g","b":{"p":"/a","q":{}}}}"#, .request(3, .get(QueryTarget("a")))
      ),
      (
        #"{"t":"d","d":{"r":4,"a":"q","b":{"p":"/a","h":""}}}"#,
        .request(4, .listen(QueryTarget("a"), tag: nil, hash: "", compound: nil))
      ),
      (
        #"{"t":"d","d":{"r":5,"a":"m","b":{"p":"/a","d":{"x":2,"n/m":5}}}}"#,
        .request(5, .merge("a", [NodeChange("x", 2), NodeChange("n/m", 5)]))
      ),
      (
        #"{"t":"d","d":{"r":6,"a":"p","b":{"p":"/a/x","d":3,"h":"WtSt2Xo3L0JtPuArzQHofPrZOuU="}}}"#,
        .request(6, .put("a/x", 3, hash: "WtSt2Xo3L0JtPuArzQHofPrZOuU="))
      ),
      (
        #"{"t":"d","d":{"r":6,"a":"p","b":{"p":"/pub/c","d":1,"h":""}}}"#,
        .request(6, .put("pub/c", 1, hash: ""))
      ),
      (
        #"{"t":"d","d":{"r":7,"a":"p","b":{"p":"/a/x/.priority","d":7}}}"#,
        .request(7, .put("a/x/.priority", 7, hash: nil))
      ),
      (
        #"{"t":"d","d":{"r":8,"a":"p","b":{"p":"/a","d":{".value":"v",".priority":"pri"}}}}"#,
        .request(8, .put("a", Node("v", priority: "pri"), hash: nil))
      ),
      (
        #"{"t":"d","d":{"r":9,"a":"m","b":{"p":"/","d":{"t":{".sv":"timestamp"},"i":{".sv":{"increment":4}}}}}}"#,
        .request(
          9,
          .merge(
            "",
            [
              NodeChange("t", Node(.serverValue(.timestamp))),
              NodeChange("i", Node(.serverValue(.increment(4)))),
            ]))
      ),
      (
        #"{"t":"d","d":{"r":11,"a":"n","b":{"p":"/a"}}}"#,
        .request(11, .unlisten(QueryTarget("a"), tag: nil))
      ),
      (
        #"{"t":"d","d":{"r":12,"a":"o","b":{"p":"/od","d":"gone"}}}"#,
        .request(12, .onDisconnectPut("od", "gone"))
      ),
      (
        #"{"t":"d","d":{"r":13,"a":"om","b":{"p":"/od2","d":{"a":1}}}}"#,
        .request(13, .onDisconnectMerge("od2", [NodeChange("a", 1)]))
      ),
      (
        #"{"t":"d","d":{"r":14,"a":"oc","b":{"p":"/od2","d":null}}}"#,
        .request(14, .onDisconnectCancel("od2"))
      ),
      (
        #"{"t":"d","d":{"r":15,"a":"gauth","b":{"cred":"owner"}}}"#,
        .request(15, .authenticate(Credential("owner")))
      ),
      (
        #"{"t":"d","d":{"r":16,"a":"auth","b":{"cred":"eyJhbGciOiJub25lIn0.eyJpYXQiOjB9."}}}"#,
        .request(16, .authenticate(Credential("eyJhbGciOiJub25lIn0.eyJpYXQiOjB9.")))
      ),
      (
        #"{"t":"d","d":{"r":17,"a":"gauth","b":{"cred":"owner","authvar":{"uid":"user1"}}}}"#,
        .request(17, .authenticate(Credential("owner", override: .claims(["uid": "user1"]))))
      ),
      (
        #"{"t":"d","d":{"r":17,"a":"gauth","b":{"cred":"owner","authvar":{}}}}"#,
        .request(17, .authenticate(Credential("owner", override: .claims(.empty))))
      ),
      (
        #"{"t":"d","d":{"r":18,"a":"gauth","b":{"cred":"owner","noauth":true}}}"#,
        .request(18, .authenticate(Credential("owner", override: .nobody)))
      ),
      (#"{"t":"d","d":{"r":19,"a":"unauth","b":{}}}"#, .request(19, .unauthenticate)),
      (
        #"{"t":"d","d":{"r":20,"a":"appcheck","b":{"token":"x"}}}"#, .request(20, .appCheck("x"))
      ),
      (#"{"t":"d","d":{"r":21,"a":"unappeck","b":{}}}"#, .request(21, .appCheck(nil))),
    ]
    for (text, message) in cases {
      let read = try client(text)
      #expect(read == message, "\(text)")
      #expect(self.text(message.encoded()) == text)
    }
  }

  @Test func `Members may come in any order, with others among them`() throws {
    let put = ClientMessage.request(0, .put("a/b", 1, hash: "h"))
    for text in [
      #"{"t":"d","d":{"a":"p","r":0,"b":{"p":"a/b","d":1,"h":"h"}}}"#,
      #"{"d":{"b":{"h":"h","d":1,"new":[{"x":[]}],"p":"/a/b"},"new":{},"a":"p","r":0},"t":"d"}"#,
      #" { "t" : "d" , "d" : { "r" : 0 , "a" : "p" , "b" : { "p" : "/a/b/" , "d" : 1 , "h" : "h" } } } "#,
    ] {
      #expect(try client(text) == put, "\(text)")
    }
    #expect(
      try client(#"{"t":"d","d":{"a":"gauth","r":1,"b":{"cred":"owner"}}}"#)
        == .request(1, .authenticate(Credential("owner"))))
    // A merge whose action comes last, so that what its members are is known late.
    #expect(
      try client(#"{"t":"d","d":{"b":{"d":{"x":null,"y/z":1},"p":"/"},"r":2,"a":"m"}}"#)
        == .request(2, .merge(.root, [NodeChange("x", .empty), NodeChange("y/z", 1)])))
  }

  @Test func `An administrator who acts as nobody is nobody, whatever stands beside it`() throws {
    let nobody = ClientMessage.request(1, .authenticate(Credential("owner", override: .nobody)))
    for members in [
      #""authvar":null,"noauth":false"#, #""noauth":false,"authvar":null"#,
      #""noauth":true,"authvar":null"#, #""authvar":null"#,
    ] {
      let text = #"{"t":"d","d":{"r":1,"a":"gauth","b":{"cred":"owner",\#(members)}}}"#
      #expect(try client(text) == nobody, "\(members)")
    }
  }

  @Test func `A filtered listen is read with its query, and written with sorted members`() throws {
    let spec = try query(#"{"sp":2,"sin":true,"l":2,"vf":"l","i":"n"}"#)
    #expect(
      spec == (try QuerySpec.default.ordered(byChild: "n").starting(at: 2).limited(toFirst: 2)))
    let recorded =
      #"{"t":"d","d":{"r":10,"a":"q","b":{"p":"/list","q":{"sp":2,"sin":true,"l":2,"vf":"l","i":"n"},"t":1,"h":""}}}"#
    let message = ClientMessage.request(
      10, .listen(QueryTarget("list", spec), tag: 1, hash: "", compound: nil))
    #expect(try client(recorded) == message)
    #expect(
      text(message.encoded())
        == #"{"t":"d","d":{"r":10,"a":"q","b":{"p":"/list","q":{"i":"n","l":2,"sin":true,"sp":2,"vf":"l"},"t":1,"h":""}}}"#
    )
    // A bound of null is another query than none.
    let null = try query(#"{"sp":null,"i":"n"}"#)
    #expect(
      try client(#"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{"sp":null,"i":"n"}}}}"#)
        == .request(1, .get(QueryTarget("a", null))))
    #expect(null.start != nil)
  }

  @Test func `What a server sends is read, and written alike`() throws {
    let cases: [(String, ServerMessage)] = [
      (
        #"{"t":"c","d":{"t":"h","d":{"ts":1795196710149,"v":"5","h":"localhost:9101","s":"2ILVH9UkQA4-RmMI"}}}"#,
        .hello(
          Hello(timestamp: 1_795_196_710_149, host: "localhost:9101", session: "2ILVH9UkQA4-RmMI"))
      ),
      (#"{"t":"c","d":{"t":"r","d":"host:9000"}}"#, .reset(host: "host:9000")),
      (#"{"t":"c","d":{"t":"s","d":"why"}}"#, .shutdown("why")),
      (#"{"t":"c","d":{"t":"e","d":"oops"}}"#, .error("oops")),
      (#"{"t":"c","d":{"t":"o","d":{}}}"#, .pong),
      (#"{"t":"d","d":{"r":4,"b":{"s":"ok","d":{}}}}"#, .response(4, .ok)),
      (
        #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{"x":1,"z":{"0":true,"2":3.5}}}}}"#,
        .response(3, Response(.ok, node: ["x": 1, "z": ["0": true, "2": 3.5]]))
      ),
      (
        #"{"t":"d","d":{"r":6,"b":{"s":"datastale","d":"Transaction hash does not match"}}}"#,
        .response(6, Response(.dataStale, reason: "Transaction hash does not match"))
      ),
      (
        #"{"t":"d","d":{"r":0,"b":{"s":"permission_denied","d":"Permission denied"}}}"#,
        .response(0, Response(.permissionDenied, reason: "Permission denied"))
      ),
      (
        #"{"t":"d","d":{"a":"d","b":{"p":"a","d":{"x":1}}}}"#,
        .push(.overwrite("a", ["x": 1], tag: nil))
      ),
      (
        #"{"t":"d","d":{"a":"d","b":{"p":"list","d":null,"t":1}}}"#,
        .push(.overwrite("list", .empty, tag: 1))
      ),
      (
        #"{"t":"d","d":{"a":"m","b":{"p":"list","d":{"-new":{"n":3},"-old":null},"t":1}}}"#,
        .push(
          .merge("list", [NodeChange("-new", ["n": 3]), NodeChange("-old", .empty)], tag: 1))
      ),
      (
        #"{"t":"d","d":{"a":"d","b":{"p":"","d":"root"}}}"#,
        .push(.overwrite(.root, "root", tag: nil))
      ),
      (
        #"{"t":"d","d":{"a":"rm","b":{"p":"a","d":[{"e":"b/c","m":{"b":1}},{"s":"b/c","m":null}]}}}"#,
        .push(
          .rangeMerge(
            "a",
            [
              RangeMerge(start: nil, end: "b/c", node: ["b": 1]),
              RangeMerge(start: "b/c", end: nil, node: .empty),
            ], tag: nil))
      ),
      (#"{"t":"d","d":{"a":"c","b":{"p":"rev"}}}"#, .push(.listenRevoked("rev", .default))),
      (
        #"{"t":"d","d":{"a":"c","b":{"p":"rev","q":[{"l":2,"vf":"l"}]}}}"#,
        .push(.listenRevoked("rev", try QuerySpec.default.limited(toFirst: 2)))
      ),
      (
        #"{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"Late"}}}"#,
        .push(.authRevoked(.expiredToken, reason: "Late"))
      ),
      (
        #"{"t":"d","d":{"a":"apc","b":{"s":"invalid_token","d":""}}}"#,
        .push(.appCheckRevoked(.invalidToken, reason: ""))
      ),
      (#"{"t":"d","d":{"a":"sd","b":{"msg":"words"}}}"#, .push(.debug("words"))),
    ]
    for (text, message) in cases {
      #expect(try server(text) == message, "\(text)")
      #expect(self.text(message.encoded()) == text)
    }
  }

  @Test func `Answers of other servers are read`() throws {
    #expect(
      try server(#"{"t":"d","d":{"b":{"d":"","s":"ok"},"r":1}}"#)
        == .response(1, Response(.ok, node: "")))
    #expect(try server(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":null}}}"#) == .response(1, .ok))
    #expect(try server(#"{"t":"d","d":{"error":"bad"}}"#) == .error("bad"))
    let warned = try server(#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":{"w":["no_index"]}}}}"#)
    guard case .response(2, let response) = warned else { return #expect(Bool(false)) }
    #expect(response.warnings == ["no_index"])
    #expect(
      text(ServerMessage.response(2, Response(.ok, warnings: ["no_index"])).encoded())
        == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":{"w":["no_index"]}}}}"#)
    // What a get answers is its data, also when there is none.
    for (nothing, d) in [(EmptyAnswer.null, "null"), (.text, #""""#)] {
      #expect(
        text(
          ServerMessage.response(2, Response(.ok, warnings: ["no_index"]))
            .encoded(nothing: nothing)) == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":\#(d)}}}"#)
    }
    let taken = #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":{"auth":{"uid":"alice"},"expires":3600}}}}"#
    #expect(
      try server(taken)
        == .response(2, Response(.ok, node: ["auth": ["uid": "alice"], "expires": 3600])))
  }

  @Test func `Whole numbers keep their value, and none is written that a long cannot hold`() throws
  {
    for value in [Int64.max, .min, 1 << 53 + 1, -1] {
      let message = ServerMessage.push(.overwrite("a", Node(.integer(value)), tag: nil))
      guard case .push(.overwrite(_, let node, _)) = try ServerMessage(decoding: message.encoded())
      else { return #expect(Bool(false)) }
      guard case .integer(value)? = node.leaf else {
        #expect(Bool(false), "\(value) became \(node)")
        continue
      }
    }
    for value in [9.3e18, 1.111111111111111e20, -1.5e20, 4e22] {
      let written = text(
        ServerMessage.push(.overwrite("a", Node(.double(value)), tag: nil)).encoded())
      #expect(written.contains("e+") || written.contains(".0"), "\(written)")
    }
  }

  @Test(arguments: [
    "0.0", "-0.0", "0", "5.0", "-3.0", "1000000.0", "2.5", "9007199254740991.0", "1e+21",
  ])
  func `A server tells a number as it was written, also as a priority`(number: String) throws {
    let node = #"{".value":\#(number),".priority":\#(number)}"#
    let put = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":\#(node)}}}"#
    let message = try ClientMessage(decoding: Array(put.utf8))
    guard case .request(1, .put(_, let written, hash: nil)) = message else {
      return #expect(Bool(false), "\(message)")
    }
    for (told, text) in [
      (ServerMessage.push(.overwrite("a", written, tag: nil)), #""d":\#(node)"#),
      (.push(.merge("a", [NodeChange("b", written)], tag: nil)), #""d":{"b":\#(node)}"#),
      (
        .push(.rangeMerge("a", [RangeMerge(start: nil, end: "b", node: written)], tag: nil)),
        #""m":\#(node)"#
      ),
      (.response(2, Response(.ok, node: written)), #""d":\#(node)"#),
    ] {
      #expect(self.text(told.encoded()).contains(text), "\(self.text(told.encoded()))")
    }
  }
}
