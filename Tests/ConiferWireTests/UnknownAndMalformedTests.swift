import ConiferTree
import ConiferWire
import Testing

@Suite struct UnknownAndMalformedTests {
  @Test func `Requests that are not known keep their number`() throws {
    let cases: [(String, ClientMessage)] = [
      (#"{"t":"d","d":{"r":7,"a":"zz","b":{"p":5,"d":[[]]}}}"#, .unknown(7, action: "zz")),
      (#"{"t":"d","d":{"a":"zz"}}"#, .unknown(nil, action: "zz")),
      (
        #"{"t":"d","d":{"r":8,"a":"q","b":{"p":"/a","q":{"l":0},"h":""}}}"#,
        .unknown(8, action: "q")
      ),
      (#"{"t":"c","d":{"t":"x","d":{".bad":1}}}"#, .unknown(nil, action: "control x")),
      (#"{"t":"x","d":5}"#, .unknown(nil, action: "of kind x")),
    ]
    for (text, message) in cases {
      #expect(try ClientMessage(decoding: Array(text.utf8)) == message, "\(text)")
    }
  }

  @Test func `News that is not known is no error`() throws {
    let cases: [(String, String)] = [
      (#"{"t":"d","d":{"a":"zz","b":{"p":5}}}"#, "zz"),
      (#"{"t":"d","d":{"a":"c","b":{"p":"a","q":{"l":-1}}}}"#, "c"),
      (#"{"t":"d","d":{"a":"c","b":{"p":"a","q":[{"l":1},{"l":2}]}}}"#, "c"),
      (#"{"t":"d","d":{"a":"c","b":{"p":"a","q":[[{"l":1}]]}}}"#, "c"),
      (#"{"t":"d","d":{"a":"c","b":{"p":"a","q":5}}}"#, "c"),
      (#"{"t":"c","d":{"t":"n","d":{}}}"#, "control n"),
      (#"{"d":[1,{"x":2}],"t":"x"}"#, "of kind x"),
      ("0", "keep-alive"),
    ]
    for (text, words) in cases {
      #expect(try ServerMessage(decoding: Array(text.utf8)) == .unknown(words), "\(text)")
    }
  }

  @Test func `Requests that lack something are malformed`() {
    for text in [
      "", "1", "null", "[]", "{}", #"{"t":"d"}"#, #"{"t":"d","d":{}}"#, #"{"t":"d","d":5}"#,
      #"{"t":"d","d":{"a":"p","b":{"p":"/a","d":1}}}"#,
      #"{"t":"d","d":{"r":-1,"a":"p","b":{"p":"/a","d":1}}}"#,
      #"{"t":"d","d":{"r":1.5,"a":"p","b":{"p":"/a","d":1}}}"#,
      #"{"t":"d","d":{"a":"p","b":{"p":"/a","d":{"":1}}}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":{"":1]}}}"#,
      #"{"t":"d","d":{"a":"p","b":{"p":1,"d":1}}}"#, #"{"t":"c","d":{}}"#,
      #"{"t":"d","d":{"r":1,"a":"unauth","b":{}}} more"#,
      #"{"t":"d","d":{"r":1,"a":"unauth","b":{}}"#, "{\"t\":\"d\",\"d\":\"\u{1}\"}",
    ] {
      let error = #expect(throws: WireError.self, "\(text)") {
        _ = try ClientMessage(decoding: Array(text.utf8))
      }
      #expect(error?.code == .malformed)
    }
    #expect(throws: WireError.self) { try ClientMessage(decoding: [0x7B, 0x22, 0xFF, 0x22]) }
  }

  @Test func `Half a surrogate pair is read as the character that stands for none`() throws {
    let escaped = #"\ud83d x\ude00\ud83d\ud83d\ude00\ud83d\n\ud83dA\ud83d"#
    let read = Node(.string("\u{FFFD} x\u{FFFD}\u{FFFD}😀\u{FFFD}\n\u{FFFD}A\u{FFFD}"))
    let put = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":""# + escaped + #""}}}"#
    #expect(
      try ClientMessage(decoding: Array(put.utf8)) == .request(1, .put("a", read, hash: nil)))
    let push = #"{"t":"d","d":{"a":"d","b":{"p":"a","d":""# + escaped + #""}}}"#
    #expect(
      try ServerMessage(decoding: Array(push.utf8)) == .push(.overwrite("a", read, tag: nil)))
  }

  @Test func `A request whose body is invalid keeps its number`() throws {
    for text in [
      #"{"t":"d","d":{"r":1,"a":"p","b":{"d":1}}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a"}}}"#,
      #"{"t":"d","d":{"r":1,"a":"m","b":{"p":"/a"}}}"#,
      #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/a"}}}"#,
      #"{"t":"d","d":{"r":1,"a":"p"}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":null}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":5}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":[{"p":"/a"}]}}"#,
      #"{"t":"d","d":{"b":{"p":1,"d":{"x":[1,{}]}},"a":"p","r":1}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":1,"h":5}}}"#,
      #"{"t":"d","d":{"r":1,"a":"m","b":{"p":"/a","d":[1]}}}"#,
      #"{"t":"d","d":{"r":1,"a":"om","b":{"p":"/a","d":"x"}}}"#,
      #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","t":"x","h":""}}}"#,
      #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":"","ch":{"hs":5}}}}"#,
      #"{"t":"d","d":{"r":1,"a":"n","b":{}}}"#, #"{"t":"d","d":{"r":1,"a":"g","b":{}}}"#,
      #"{"t":"d","d":{"r":1,"a":"auth","b":{}}}"#,
      #"{"t":"d","d":{"r":1,"a":"auth","b":{"cred":5}}}"#,
    ] {
      guard case .invalid(1, let reason) = try ClientMessage(decoding: Array(text.utf8)) else {
        Issue.record("\(text) is taken for something else.")
        continue
      }
      #expect(!reason.isEmpty)
    }
  }

  @Test func `What a server sends may lack nothing either`() {
    for text in [
      #"{"t":"d","d":{"r":1,"b":{"d":""}}}"#, #"{"t":"d","d":{"b":{"s":"ok"}}}"#,
      #"{"t":"c","d":{"t":"h","d":{}}}"#, #"{"t":"c","d":{"t":"r","d":""}}"#,
      #"{"t":"d","d":{"a":"d","b":{"d":1}}}"#, #"{"t":"d","d":{"a":"d","b":{"p":"a","d":{"":1}}}}"#,
      #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{".x":1}}}}"#,
      #"{"t":"d","d":{"a":"rm","b":{"p":"a","d":{}}}}"#,
    ] {
      #expect(throws: WireError.self, "\(text)") {
        try ServerMessage(decoding: Array(text.utf8))
      }
    }
  }

  @Test func `An error shows nothing of the data`() {
    for text in [
      #"{"t":"d","d":{"a":"p","b":{"p":"/a","d":{"secret":{".secret":1}}}}}"#,
      #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":{"secret":secret}}}}"#,
    ] {
      let error = #expect(throws: WireError.self) {
        _ = try ClientMessage(decoding: Array(text.utf8))
      }
      #expect(error?.message.contains("secret") == false)
    }
  }

  @Test func `Data that no tree can hold makes a request invalid, and nothing else`() throws {
    for data in [
      #"{"":1}"#, #"{"a":{".foo":[1,{"b":2}]}}"#, #"{".priority":true,"a":1}"#,
      #"{".sv":"timestamp","a":1}"#, #"{"a":{".value":{"b":1}},"z":[]}"#,
    ] {
      let bodies = [
        ("p", data), ("o", data), ("m", #"{"x":\#(data),"y":1}"#), ("om", #"{"x":\#(data)}"#),
      ]
      for (action, d) in bodies {
        let bodyLast = #"{"t":"d","d":{"r":7,"a":"\#(action)","b":{"d":\#(d),"p":"/a"}}}"#
        let actionLast = #"{"t":"d","d":{"r":7,"b":{"d":\#(d),"p":"/a"},"a":"\#(action)"}}"#
        for text in [bodyLast, actionLast] {
          guard case .invalid(7, let reason) = try ClientMessage(decoding: Array(text.utf8)) else {
            #expect(Bool(false), "\(text)")
            continue
          }
          #expect(!reason.isEmpty)
        }
      }
    }
    let message = ClientMessage.invalid(7, reason: "secret")
    #expect(!"\(message)".contains("secret"))
    #expect(try ClientMessage(decoding: message.encoded()) == .unknown(7, action: "invalid"))
  }

  @Test func `The name of what is not known is short and has no control characters`() throws {
    let long = "a\u{301}" + String(repeating: "\u{301}", count: 10_000)
    func action(_ name: String) throws -> String {
      var json = JSONWriter()
      json.string(name)
      let text = #"{"t":"d","d":{"r":1,"a":"# + String(decoding: json.bytes, as: UTF8.self) + "}}"
      guard case .unknown(1, let action) = try ClientMessage(decoding: Array(text.utf8)) else {
        return "known"
      }
      return action
    }
    #expect(try action(long).utf8.count <= 80)
    #expect(try action("x\ny\u{1B}[31m\u{85}\u{202E}") == "x\\u{A}y\\u{1B}[31m\\u{85}\\u{202E}")
    #expect(try action("zz é") == "zz é")
  }

  @Test func `Nesting beyond the limit is too large, below it data`() throws {
    func nested(_ depth: Int) -> [UInt8] {
      let open = String(repeating: #"{"a":"#, count: depth)
      let close = String(repeating: "}", count: depth)
      return Array(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/","d":"#.utf8) + Array(open.utf8)
        + Array("1".utf8) + Array(close.utf8) + Array("}}}".utf8)
    }
    guard case .request(1, .put(_, let node, _)) = try ClientMessage(decoding: nested(200)) else {
      return #expect(Bool(false))
    }
    #expect(node.estimatedSize > 0)
    guard case .tooLarge(1, _) = try ClientMessage(decoding: nested(100_000)) else {
      return #expect(Bool(false))
    }
    // Without a number nobody can be answered.
    let error = #expect(throws: WireError.self) {
      _ = try ClientMessage(decoding: [UInt8](#"{"t":"d","d":"#.utf8) + nested(100_000))
    }
    #expect(error?.code == .tooLarge)
  }
}
