#if Network
  import ConiferServer
  import ConiferTree
  import Testing

  @testable import ConiferServerHTTP

  /// Frames as they may come, and as they must not.
  struct FrameTests {
    static func put(_ text: String) -> String {
      #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/long","d":"\#(text)"}}}"#
    }

    /// A text of characters that take one and two units of UTF-16.
    static let long = String(repeating: "aé🌲", count: 12_000)

    @Test("A long message comes in counted frames, and goes out so")
    func chunks() async throws {
      try await serving { serving in
        let client = try await serving.client()
        let text = Array(Self.put(Self.long))
        let size = 12_000
        let parts = stride(from: 0, to: text.count, by: size).map {
          String(text[$0..<min($0 + size, text.count)])
        }
        try await client.send(String(parts.count))
        for part in parts { try await client.send(part) }
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        #expect(serving.server.data("long", in: "demo") == Node(.string(Self.long)))
        try await client.send(#"{"t":"d","d":{"r":2,"a":"g","b":{"p":"/long","q":{}}}}"#)
        let answer = try await client.message()
        #expect(answer?["d/b/d" as Path] == Node(.string(Self.long)))
      }
    }

    @Test("A long message in one frame, or in one message of several frames, is taken")
    func unsplit() async throws {
      try await serving { serving in
        let client = try await serving.client()
        let text = Self.put(Self.long)
        try await client.send(text)
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        serving.server.set("long", .empty, in: "demo")
        let bytes = Array(text.utf8)
        let middle = bytes.count / 2
        try await client.socket.send(
          WebSocketClient.frame(Array(bytes[..<middle]), fin: false)
            + WebSocketClient.frame([7], .ping)
            + WebSocketClient.frame(Array(bytes[middle...]), .continuation))
        #expect(try await client.frame() == .init(opcode: .pong, bytes: [7]))
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        #expect(serving.server.data("long", in: "demo") == Node(.string(Self.long)))
      }
    }

    @Test("A message of megabytes in one frame is taken")
    func large() async throws {
      try await serving { serving in
        let client = try await serving.client()
        let text = String(repeating: "x", count: 3_000_000)
        try await client.send(Self.put(text))
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        let isThere = serving.server.data("long", in: "demo") == Node(.string(text))
        #expect(isThere)
      }
    }

    @Test("Bytes that come one by one are put together")
    func bytewise() async throws {
      try await serving { serving in
        let client = try await serving.client()
        let bytes = WebSocketClient.frame(Array(Self.put("x").utf8))
        for byte in bytes { try await client.socket.send([byte]) }
        try await client.expect(#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
      }
    }

    @Test("A keep-alive is not answered, and a ping of the protocol is")
    func keepAlive() async throws {
      try await serving { serving in
        let client = try await serving.client()
        try await client.send("0")
        try await client.send(#"{"t":"c","d":{"t":"p","d":null}}"#)
        try await client.expect(#"{"t":"c","d":{"t":"o","d":null}}"#)
        try await client.send("0")
        #expect(try await client.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }

    @Test("What is not known is refused by its number, and the session goes on")
    func unknown() async throws {
      try await serving { serving in
        let client = try await serving.client()
        #expect(try await client.ask("zz", #"{"p":"/"}"#)["s" as Key] == "failure")
        for (action, body) in [
          ("p", #"{"p":5,"d":1}"#), ("p", "{}"), ("m", #"{"p":"/","d":[1]}"#), ("auth", "[]"),
          ("q", #"{"p":"/","q":{"l":0},"h":""}"#), ("g", "null"),
        ] {
          #expect(try await client.ask(action, body)["s" as Key] == "failure", "\(action) \(body)")
        }
        #expect(try await client.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }

    struct Bad: CustomTestStringConvertible, Sendable {
      let testDescription: String
      let bytes: [UInt8]
      let code: Int
    }

    static let bad: [Bad] = [
      Bad(
        testDescription: "unmasked",
        bytes: WebSocketClient.frame(Array("0".utf8), masked: false), code: 1002),
      Bad(testDescription: "binary", bytes: WebSocketClient.frame([1], .binary), code: 1003),
      Bad(testDescription: "reserved bit", bytes: [0xC1, 0x80, 0, 0, 0, 0], code: 1002),
      Bad(testDescription: "reserved kind", bytes: [0x83, 0x80, 0, 0, 0, 0], code: 1002),
      Bad(testDescription: "long ping", bytes: [0x89, 0xFE, 0x01, 0x00], code: 1002),
      Bad(testDescription: "ping in parts", bytes: [0x09, 0x80, 0, 0, 0, 0], code: 1002),
      Bad(
        testDescription: "nothing to continue",
        bytes: WebSocketClient.frame([0x30], .continuation), code: 1002),
      Bad(
        testDescription: "text within text",
        bytes: WebSocketClient.frame([0x30], fin: false) + WebSocketClient.frame([0x30]),
        code: 1002),
      Bad(
        testDescription: "frame too long to throw away",
        bytes: [0x81, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 1, 0, 0, 0, 0], code: 1009),
      Bad(
        testDescription: "frame of 2^63 bytes",
        bytes: [0x81, 0xFF, 0xFF] + .init(repeating: 0, count: 11),
        code: 1009),
      Bad(testDescription: "no JSON", bytes: WebSocketClient.frame(Array("{".utf8)), code: 1007),
      Bad(
        testDescription: "no UTF-8", bytes: WebSocketClient.frame([0x22, 0xFF, 0x22]), code: 1007),
      Bad(
        testDescription: "deep JSON",
        bytes: WebSocketClient.frame([UInt8](repeating: UInt8(ascii: "["), count: 900_000)),
        code: 1007),
    ]

    @Test("A frame that must not come ends its session, and no other one", arguments: bad)
    func refused(_ bad: Bad) async throws {
      try await serving { serving in
        let other = try await serving.client()
        let client = try await serving.client()
        _ = try await client.ask("o", #"{"p":"/gone","d":true}"#)
        try await client.socket.send(bad.bytes)
        #expect(try await client.closeCode() == bad.code)
        #expect(serving.server.data("gone", in: "demo") == true)
        #expect(serving.server.sessions(in: "demo") == [other.session])
        #expect(try await other.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }
  }
#endif
