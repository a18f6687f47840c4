#if Network
  /// What came from a socket, and was not looked at.
  final class Reader {
    let socket: Socket
    private var bytes: [UInt8] = []
    private var position = 0

    init(_ socket: Socket) { self.socket = socket }

    /// The next bytes, exactly so many; nil when the end comes before.
    func take(_ count: Int) async throws -> [UInt8]? {
      while bytes.count - position < count {
        let more = try await socket.receive()
        if more.isEmpty { return nil }
        bytes = bytes[position...] + more
        position = 0
      }
      defer { position += count }
      return Array(bytes[position..<position + count])
    }

    /// The next line without its end; nil at the end.
    func line() async throws -> String? {
      var line: [UInt8] = []
      while let byte = try await take(1)?.first {
        if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        if byte != UInt8(ascii: "\r") { line.append(byte) }
      }
      return nil
    }

    /// All up to the end.
    func rest() async throws -> [UInt8] {
      var rest: [UInt8] = []
      while let byte = try await take(1) { rest += byte }
      return rest
    }
  }

  /// An HTTP answer.
  struct Reply {
    let status: Int
    let headers: [String: String]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads the next answer's head; nil when the connection ends instead.
    static func head(_ reader: Reader) async throws -> Reply? {
      guard let first = try await reader.line() else { return nil }
      let words = first.split(separator: " ")
      guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
        throw Socket.Failure(words: "No answer's first line: \(first)")
      }
      var headers: [String: String] = [:]
      while let line = try await reader.line(), !line.isEmpty {
        let parts = line.split(separator: ":", maxSplits: 1)
        headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].dropFirst()) : ""
      }
      return Reply(status: status, headers: headers)
    }

    /// Reads the next answer whole.
    static func next(_ reader: Reader, hasBody: Bool = true) async throws -> Reply? {
      guard var reply = try await head(reader) else { return nil }
      guard hasBody, reply.status != 204, reply.status != 304, reply.status >= 200 else {
        return reply
      }
      if let length = reply.headers["content-length"].flatMap({ Int($0) }) {
        guard let body = try await reader.take(length) else {
          throw Socket.Failure(words: "The answer is cut.")
        }
        reply.body = body
      } else if reply.headers["transfer-encoding"] == "chunked" {
        while let line = try await reader.line(), let count = Int(line, radix: 16) {
          reply.body += try await reader.take(count) ?? []
          _ = try await reader.line()
          if count == 0 { break }
        }
      } else {
        reply.body = try await reader.rest()
      }
      return reply
    }
  }
#endif
