#if Network
  import ConiferServer
  import ConiferTree
  import Testing

  @testable import ConiferServerHTTP

  /// Messages that are too large, too deep or not finished.
  extension FrameTests {
    /// The ways in which a message comes in frames.
    enum Shape: CaseIterable {
      case one, pieces, fragments, piecesInFragments

      func frames(_ text: [UInt8], by size: Int) -> [[UInt8]] {
        let parts = stride(from: 0, to: text.count, by: size).map {
          Array(text[$0..<min($0 + size, text.count)])
        }
        func fragments(_ bytes: [UInt8]) -> [[UInt8]] {
          let middle = bytes.count / 2
          return [
            WebSocketClient.frame(Array(bytes[..<middle]), fin: false),
            WebSocketClient.frame(Array(bytes[middle...]), .continuation),
          ]
        }
        let count = WebSocketClient.frame(Array("\(parts.count)".utf8))
        switch self {
        case .one: return [WebSocketClient.frame(text)]
        case .pieces: return [count] + parts.map { WebSocketClient.frame($0) }
        case .fragments:
          return parts.enumerated().map { index, part in
            WebSocketClient.frame(
              part, index == 0 ? .text : .continuation, fin: index == parts.count - 1)
          }
        case .piecesInFragments: return [count] + parts.flatMap(fragments)
        }
      }
    }

    @Test(
      "A message longer than the limit is thrown away as it comes, its request answered, and the session goes on",
      arguments: Shape.allCases)
    func tooLong(_ shape: Shape) async throws {
      let limit = 50_000
      try await serving { configuration in
        configuration.limits.message = limit
        configuration.limits.total = 4 * limit
      } _: { serving in
        let client = try await serving.client()
        let other = try await serving.client()
        let long = String(repeating: "x", count: 20 * limit)
        // The number may stand before the data, as JavaScript writes it, or behind it.
        let texts = [
          #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/long","d":"\#(long)"}}}"#,
          #"{"d":{"b":{"d":"\#(long)","p":"/long"},"a":"p","r":2},"t":"d"}"#,
        ]
        for (index, text) in texts.enumerated() {
          let frames = shape.frames(Array(text.utf8), by: 9000)
          for frame in frames {
            try await client.socket.send(frame)
            #expect(serving.http.connections.bytes <= 4 * limit)
          }
          let answer = try await client.message()
          #expect(answer?["d/r" as Path] == Node(.integer(Int64(index + 1))))
          #expect(answer?["d/b/s" as Path] == "too_big")
          #expect(serving.http.connections.bytes == 0)
        }
        // Requests before and behind it are answered in their order.
        var all: [UInt8] = []
        for number in 3...5 {
          let value = number == 4 ? #""\#(long)""# : "\(number)"
          let text = #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/n","d":\#(value)}}}"#
          all +=
            number == 4
            ? shape.frames(Array(text.utf8), by: 9000).flatMap { $0 }
            : WebSocketClient.frame(Array(text.utf8))
        }
        try await client.socket.send(all)
        for (number, status) in [(3, "ok"), (4, "too_big"), (5, "ok")] {
          let answer = try await client.message()
          #expect(answer?["d/r" as Path] == Node(.integer(Int64(number))))
          #expect(answer?["d/b/s" as Path] == Node(.string(status)))
        }
        #expect(serving.server.data("n", in: "demo") == 5)
        #expect(serving.server.data("long", in: "demo") == .empty)
        #expect(serving.server.sessions(in: "demo") == [client.session, other.session])
      }
    }

    @Test("A message that is too large and no request ends its session", arguments: Shape.allCases)
    func tooLongForNobody(_ shape: Shape) async throws {
      try await serving { configuration in
        configuration.limits.message = 50_000
      } _: { serving in
        let client = try await serving.client()
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 60_000)
        for frame in shape.frames(text, by: 9000) { try await client.socket.send(frame) }
        #expect(try await client.closeCode() == 1009)
      }
    }

    @Test(
      "A message with more bytes than are thrown away ends its session", arguments: Shape.allCases)
    func tooLongToDiscard(_ shape: Shape) async throws {
      try await serving { configuration in
        configuration.limits.message = 50_000
        configuration.limits.discarded = 100_000
      } _: { serving in
        let client = try await serving.client()
        let long = String(repeating: "x", count: 120_000)
        let text = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/long","d":"\#(long)"}}}"#
        for frame in shape.frames(Array(text.utf8), by: 9000) {
          do { try await client.socket.send(frame) } catch { break }
        }
        #expect(try await client.closeCode() == 1009)
      }
    }

    @Test(
      "A message that would take too much memory is refused before it is read", arguments: [1, 2])
    func tooHeavy(_ number: Int) async throws {
      try await serving { configuration in
        configuration.limits.total = 1_000_000
      } _: { serving in
        let client = try await serving.client()
        let ones = "[" + Array(repeating: "1", count: 20_000).joined(separator: ",") + "]"
        // What is invalid behind its data would end the session, if it were read.
        let rest = number == 1 ? "}}}" : "}}"
        try await client.send(
          #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/a","d":\#(ones)\#(rest)"#)
        let answer = try await client.message()
        #expect(answer?["d/r" as Path] == Node(.integer(Int64(number))))
        #expect(answer?["d/b/s" as Path] == "too_big")
        #expect(serving.server.data("a", in: "demo") == .empty)
        #expect(try await client.ask("p", #"{"p":"/a","d":1}"#)["s" as Key] == "ok")
        try await client.send(ones)
        #expect(try await client.closeCode() == 1009)
      }
    }

    @Test("A request that is nested too deeply is refused as too large, and the session goes on")
    func tooDeep() async throws {
      try await serving { serving in
        let client = try await serving.client()
        let deep = String(repeating: "[", count: 400) + String(repeating: "]", count: 400)
        #expect(try await client.ask("p", #"{"p":"/a","d":\#(deep)}"#)["s" as Key] == "too_big")
        #expect(try await client.ask("p", #"{"p":"/a","d":1}"#)["s" as Key] == "ok")
      }
    }

    @Test(
      "A message that drips in ends its session after a time, be it kept or thrown away",
      arguments: Shape.allCases, [32 << 20, 1000])
    func dripping(_ shape: Shape, _ limit: Int) async throws {
      try await serving { configuration in
        configuration.limits.message = limit
        configuration.timeouts.request = .milliseconds(300)
      } _: { serving in
        let client = try await serving.client()
        let other = try await serving.client()
        let text = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":"\#(Self.long)"}}}"#
        let bytes = shape.frames(Array(text.utf8), by: 9000).flatMap { $0 }
        // Never whole, however long it takes: it ends one byte before.
        for byte in bytes.dropLast() {
          guard serving.server.sessions(in: "demo").count == 2 else { break }
          do { try await client.socket.send([byte]) } catch { break }
        }
        #expect(try await client.closeCode() == 1008)
        #expect(serving.server.sessions(in: "demo") == [other.session])
        #expect(try await other.ask("s", #"{"c":{}}"#)["s" as Key] == "ok")
      }
    }

    @Test(
      "A frame that begins and does not go on ends its session after a time, of whatever kind it is",
      arguments: [
        [0x81], [0x81, 0xFF, 0, 0, 0], [0x81, 0x85, 0, 0, 0, 0], [0x01, 0x80, 0, 0, 0, 0],
        [0x89, 0x85, 0, 0, 0, 0, 7], [0x88, 0x82, 0, 0, 0, 0, 3], [0x8A],
      ] as [[UInt8]])
    func unfinished(_ bytes: [UInt8]) async throws {
      try await serving { configuration in
        configuration.timeouts.request = .milliseconds(300)
      } _: { serving in
        let client = try await serving.client()
        try await client.socket.send(bytes)
        #expect(try await client.closeCode() == 1008)
      }
    }

    @Test(
      "A close frame is answered with its code, and one that may not come with an error's",
      arguments: [
        ([], nil), ([0x03, 0xE8], 1000), ([0x03, 0xE9] + Array("Bye".utf8), 1001),
        ([0x0B, 0xB8], 3000), ([0x13, 0x87], 4999), ([0x03, 0xF5], 1013),
        ([0x03], 1002), ([0, 0], 1002), ([0x03, 0xE7], 1002), ([0x03, 0xEC], 1002),
        ([0x03, 0xED], 1002), ([0x03, 0xEE], 1002), ([0x03, 0xF7], 1002), ([0x04, 0x4C], 1002),
        ([0x0B, 0xB7], 1002), ([0x13, 0x88], 1002), ([0xFF, 0xFF], 1002),
        ([0x03, 0xE8, 0xFF], 1007),
      ] as [([UInt8], Int?)])
    func closeCodes(_ data: [UInt8], _ code: Int?) async throws {
      try await serving { serving in
        let client = try await serving.client()
        _ = try await client.ask("o", #"{"p":"/gone","d":true}"#)
        try await client.socket.send(WebSocketClient.frame(data, .close))
        let frame = try await client.frame()
        #expect(frame?.opcode == .close)
        #expect(frame?.code == code)
        #expect(frame?.bytes.count == (code == nil ? 0 : 2))
        #expect(serving.server.data("gone", in: "demo") == true)
      }
    }
  }
#endif
