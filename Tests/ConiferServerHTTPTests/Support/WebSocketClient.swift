#if Network
  import ConiferTree
  import Testing

  /// A client's end of a WebSocket, as plain as it can be.
  final class WebSocketClient {
    enum Opcode: UInt8 {
      case continuation = 0
      case text = 1
      case binary = 2
      case close = 8
      case ping = 9
      case pong = 10
    }

    struct Frame: Equatable {
      let opcode: Opcode
      let bytes: [UInt8]

      var text: String { String(decoding: bytes, as: UTF8.self) }
      /// The code of a close frame.
      var code: Int? {
        opcode == .close && bytes.count >= 2 ? Int(bytes[0]) << 8 | Int(bytes[1]) : nil
      }
    }

    let socket: Socket
    let reader: Reader
    private var number = 0
    /// The answer to the handshake.
    let reply: Reply?
    private(set) var hello: Node = .empty

    /// Connects, and reads the hello.
    ///
    /// - Parameter ahead: frames that are sent with the handshake.
    init(
      port: Int, _ path: String = "/.ws?v=5&ns=demo", host: String = "localhost:9101",
      headers: [String] = [], ahead: [UInt8] = [],
      receiveBuffer: Int32? = nil
    ) async throws {
      socket = try Socket(port: port, receiveBuffer: receiveBuffer)
      reader = Reader(socket)
      let lines =
        [
          "GET \(path) HTTP/1.1", "Host: \(host)", "Upgrade: websocket", "Connection: Upgrade",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        ] + headers
      try await socket.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + ahead)
      reply = try await Reply.next(reader)
      guard reply?.status == 101 else { return }
      hello = try await message() ?? .empty
    }

    /// The session's name, from the hello.
    var session: String {
      if case .string(let name)? = hello["d/d/s" as Path].leaf { name } else { "" }
    }

    // MARK: Sending

    /// A frame's bytes.
    static func frame(
      _ bytes: [UInt8], _ opcode: Opcode = .text, fin: Bool = true, masked: Bool = true
    ) -> [UInt8] {
      let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
      var frame = [opcode.rawValue | (fin ? 0x80 : 0)]
      let bit: UInt8 = masked ? 0x80 : 0
      switch bytes.count {
      case ..<126: frame.append(UInt8(bytes.count) | bit)
      case ..<65_536: frame += [126 | bit] + big(bytes.count, 2)
      default: frame += [127 | bit] + big(bytes.count, 8)
      }
      if masked { frame += mask }
      return frame + (masked ? bytes.enumerated().map { $1 ^ mask[$0 % 4] } : bytes)
    }

    private static func big(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    func send(_ text: String, fin: Bool = true) async throws {
      try await socket.send(Self.frame(Array(text.utf8), fin: fin))
    }

    /// Sends a request with the next number.
    @discardableResult
    func send(_ action: String, _ body: String) async throws -> Int {
      number += 1
      try await send(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
      return number
    }

    // MARK: Receiving

    /// The next frame; nil at the end of the connection.
    func frame() async throws -> Frame? {
      guard let head = try await reader.take(2) else { return nil }
      guard head[0] & 0xF0 == 0x80, head[1] & 0x80 == 0, let opcode = Opcode(rawValue: head[0] & 15)
      else { throw Socket.Failure(words: "A frame of a server's is not as it must be: \(head)") }
      var count = Int(head[1])
      if count >= 126 {
        guard let more = try await reader.take(count == 126 ? 2 : 8) else { return nil }
        count = more.reduce(0) { $0 << 8 | Int($1) }
      }
      guard let bytes = try await reader.take(count) else { return nil }
      return Frame(opcode: opcode, bytes: bytes)
    }

    /// The next message's text, put together; nil when the server closes instead.
    func text() async throws -> String? {
      var next = try await frame()
      while next?.opcode == .ping { next = try await frame() }
      guard let first = next, first.opcode == .text else { return nil }
      guard first.bytes.count <= 6, let count = Int(first.text), count > 0 else {
        return first.text
      }
      var text = ""
      for _ in 0..<count {
        guard let frame = try await frame(), frame.opcode == .text else { return nil }
        // Nothing that a client may not take: 16,384 units of UTF-16.
        #expect(frame.text.utf16.count <= 16_384)
        text += frame.text
      }
      return text
    }

    /// The next message as a tree, in which `null` and `{}` are nothing.
    func message() async throws -> Node? { try await text().map { try Node(json: $0) } }

    /// Checks that the next message says so.
    func expect(_ json: String, at location: SourceLocation = #_sourceLocation) async throws {
      let text = try await text()
      let expected = try Node(json: json)
      let got = try text.map { try Node(json: $0) }
      #expect(got == expected, "\(text ?? "nothing")", sourceLocation: location)
    }

    /// Asks, and returns the answer's body; pushes before it are left out.
    func ask(_ action: String, _ body: String) async throws -> Node {
      let number = try await send(action, body)
      while let message = try await message() {
        if message["d/r" as Path] == Node(.integer(Int64(number))) { return message["d/b" as Path] }
      }
      throw Socket.Failure(words: "The connection ended before the answer.")
    }

    /// The code that the server closes with, pushes and answers before left out; nil when the
    /// connection ends without.
    func closeCode() async throws -> Int? {
      while let frame = try await frame() {
        if let code = frame.code { return code }
      }
      return nil
    }
  }
#endif
