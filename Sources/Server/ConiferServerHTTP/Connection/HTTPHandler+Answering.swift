#if Network
  import ConiferServer
  import NIOCore
  import NIOHTTP1
  import Synchronization

  extension HTTPHandler {
    /// The maximum number of bytes that are written before the client has read earlier ones.
    private static let slice = 256 * 1024

    /// Starts answering the complete request.
    func begin() {
      guard let body = incoming?.takeBody(), let incoming else { return }
      phase = .answering
      let head = incoming.head
      if head.method == .OPTIONS { return write(CrossOrigin.preflight(head.headers)) }
      guard let method = Self.methods[head.method.rawValue] else {
        return refuse(405, "The method must be GET, HEAD, PUT, PATCH, POST, DELETE or OPTIONS.")
      }
      let request = HTTPRequest(
        method: method, path: incoming.target.path,
        query: incoming.target.parameters.map { ($0.name, $0.value) },
        headers: head.headers.map { ($0.name.lowercased(), $0.value) },
        body: [], namespace: incoming.namespace)
      answer = Self.answer(
        request, Handover(body), share, of: owner, bound, isHead: head.method == .HEAD)
    }

    /// Moves a body to the responder, so that nothing else keeps it in memory.
    private final class Handover: Sendable {
      private let body: Mutex<[UInt8]>

      init(_ body: [UInt8]) { self.body = Mutex(body) }

      func take() -> [UInt8] {
        body.withLock { body in
          defer { body = [] }
          return body
        }
      }
    }

    private static func answer(
      _ request: HTTPRequest, _ body: Handover, _ share: MemoryShare, of owner: HTTPServer,
      _ bound: NIOLoopBound<HTTPHandler>, isHead: Bool
    ) -> Task<Void, Never> {
      Task {
        let response = await answer(request, body, of: owner)
        await deliver(response, share, bound, isHead: isHead)
      }
    }

    private static func answer(
      _ request: HTTPRequest, _ body: Handover, of owner: HTTPServer
    ) async -> HTTPResponse {
      var request = request
      request.body = body.take()
      return await owner.answer(request)
    }

    /// The methods that responders can get.
    private static let methods = [
      "GET": "GET", "HEAD": "GET", "PUT": "PUT", "PATCH": "PATCH", "POST": "POST",
      "DELETE": "DELETE",
    ]

    /// Refuses a request, and closes the connection.
    func refuse(_ status: Int, _ words: String) {
      keepsAlive = false
      phase = .answering
      _ = incoming?.takeBody()
      share.hold(0)
      write(.refusal(status, words))
    }

    /// Refuses because there is no memory for an answer.
    private func refuseAnswer() {
      keepsAlive = false
      write(.refusal(503, "The server is busy. Try again later."))
    }

    // MARK: Delivery

    /// Writes an answer as fast as the client reads it.
    ///
    /// - Parameter share: the memory of the request and its answer.
    private static func deliver(
      _ response: HTTPResponse, _ share: MemoryShare, _ bound: NIOLoopBound<HTTPHandler>,
      isHead: Bool
    ) async {
      let loop = bound.eventLoop
      switch response.body {
      case .bytes(let bytes) where isHead || bytes.count <= slice:
        loop.execute { bound.value.write(response, isHead: isHead) }
      case .bytes(let bytes):
        guard share.claim(bytes.count) else {
          return loop.execute { bound.value.refuseAnswer() }
        }
        loop.execute { bound.value.writeHead(response, length: bytes.count) }
        var position = 0
        while position < bytes.count, !Task.isCancelled {
          let end = min(position + slice, bytes.count)
          let part = bytes[position..<end]
          position = end
          // The end of the connection cancels the task.
          try? await loop.flatSubmit { bound.value.writeBody(part) }.get()
        }
        loop.execute { bound.value.writeEnd() }
      case .stream(let stream):
        loop.execute { bound.value.writeHead(response, length: nil, isHead: isHead) }
        // Even an iteration that is cancelled at once releases the stream.
        if isHead { withUnsafeCurrentTask { $0?.cancel() } }
        for await chunk in stream where !chunk.isEmpty {
          // A part of a stream counts until the client has it.
          guard share.claim(chunk.count) else {
            loop.execute { bound.value.channel.close(promise: nil) }
            break
          }
          do {
            try await loop.flatSubmit { bound.value.writeBody(chunk[...]) }.get()
            share.hold(0)
          } catch {
            // The end of the iteration tells the stream's producer.
            withUnsafeCurrentTask { $0?.cancel() }
          }
        }
        loop.execute { bound.value.writeEnd() }
      }
    }

    /// Writes a short answer at once.
    func write(_ response: HTTPResponse, isHead: Bool = false) {
      guard phase == .answering, channel.isActive else { return }
      guard case .bytes(let bytes) = response.body else { return }
      writeHead(response, length: bytes.count, isHead: isHead)
      if !isHead, !bytes.isEmpty { send(.body(.byteBuffer(ByteBuffer(bytes: bytes)))) }
      writeEnd()
    }

    /// - Parameter length: the length of the body; nil for a stream.
    private func writeHead(_ response: HTTPResponse, length: Int?, isHead: Bool = false) {
      guard phase == .answering, channel.isActive else { return }
      let request = incoming?.head
      incoming = nil
      let status = HTTPResponseStatus(statusCode: response.status)
      var headers = HTTPHeaders()
      for (name, value) in response.headers where Self.isSafe(name, value) {
        headers.add(name: name, value: value)
      }
      headers.add(name: "date", value: HTTPDate.text(owner.server.clock.now / 1000))
      CrossOrigin.add(to: &headers, for: request?.headers, owner.origins)
      if status.mayHaveResponseBody {
        if let length {
          headers.add(name: "content-length", value: String(length))
        } else if !isHead {
          isStreaming = true
          // An event stream ends with its connection, as clients of the Realtime Database expect.
          // The end of other streams must be distinguishable from a broken connection.
          let isEvents = response.headers.contains {
            $0.name == "content-type" && $0.value.hasPrefix("text/event-stream")
          }
          if isEvents || request?.version != .http1_1 {
            keepsAlive = false
          } else {
            headers.add(name: "transfer-encoding", value: "chunked")
          }
        }
      }
      if isQuiescing { keepsAlive = false }
      if !keepsAlive {
        headers.add(name: "connection", value: "close")
      } else if request?.version == .http1_0 {
        headers.add(name: "connection", value: "keep-alive")
      }
      progress = (.now(), 0)
      send(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
      if length == nil { channel.flush() }
      // A stream may begin long after the server began to stop.
      if isStreaming, isQuiescing { answer?.cancel() }
    }

    private func writeBody(_ bytes: ArraySlice<UInt8>) -> EventLoopFuture<Void> {
      guard phase == .answering, channel.isActive else {
        return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
      }
      let promise = channel.eventLoop.makePromise(of: Void.self)
      send(.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise)
      channel.flush()
      return promise.futureResult
    }

    /// Ends the answer, and continues when the client has it.
    private func writeEnd() {
      guard phase == .answering, channel.isActive else { return }
      let promise = channel.eventLoop.makePromise(of: Void.self)
      let bound = bound
      promise.futureResult.whenComplete { result in
        switch result {
        case .success: bound.value.continueAfterAnswer()
        case .failure: bound.value.channel.close(promise: nil)
        }
      }
      send(.end(nil), promise)
      channel.flush()
    }

    private func send(_ part: HTTPServerResponsePart, _ promise: EventLoopPromise<Void>? = nil) {
      channel.pipeline.syncOperations.write(NIOAny(part), promise: promise)
    }

    /// Whether a responder's header may be sent: it is not one of the connection's own, and has one
    /// line.
    private static func isSafe(_ name: String, _ value: String) -> Bool {
      switch name.lowercased() {
      case "content-length", "transfer-encoding", "connection", "date": return false
      default: break
      }
      return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
        && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    // MARK: Time

    /// Ends requests and answers that take too long.
    func look() {
      let now = NIODeadline.now()
      let timeouts = owner.configuration.timeouts
      switch phase {
      case .idle:
        if now - since > TimeAmount(timeouts.idle) { channel.close(promise: nil) }
      case .receiving:
        if now - since > TimeAmount(timeouts.idle) || now - began > TimeAmount(timeouts.request) {
          refuse(408, "The request took too long to arrive.")
        }
      case .answering:
        let waiting = channel.waitingBytes
        if waiting == 0 || waiting != progress.waiting { progress = (now, waiting) }
        if now - progress.at > TimeAmount(timeouts.write) { channel.close(promise: nil) }
      case .lingering:
        if now - since > TimeAmount(timeouts.close) { channel.close(promise: nil) }
      }
    }
  }

  extension Channel {
    /// The bytes that were written and are still here, asked on the channel's own loop.
    var waitingBytes: Int {
      (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
  }
#endif
