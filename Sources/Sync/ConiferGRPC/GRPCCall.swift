#if GRPC
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf
  import Synchronization

  /// A call that sends and receives messages until one side ends it.
  final class GRPCCall<
    Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message, Answer: Sendable
  >: Sendable {
    /// What happens on a call.
    enum Event: Sendable {
      /// Messages reach the server.
      case opened
      /// The server said something.
      case said(Answer)
      /// It has ended; nil when the client closed it.
      case closed(StatusError?)
    }

    /// How the client closes a call. What it has not sent by then is never sent.
    enum Closing: Sendable {
      /// At once.
      case cancelling
      /// The server has a moment to do what was sent, and the next call of these waits until it has, or the moment is over:
      /// done later, it would undo what the next one has done.
      case finishing(SerialCalls)
    }

    private enum State {
      case opening, open, closed
    }

    private let line: GRPCLine
    private let method: MethodDescriptor
    private let metadata: Metadata
    private let closing: Closing
    private let requests: AsyncStream<Request>
    private let outbound: AsyncStream<Request>.Continuation
    /// One event is told after the other: what is told is told within the lock.
    private let state = Mutex(State.opening)
    private let isCut = Mutex(false)
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let read: @Sendable (ReceivedMessage<Response>) throws -> Answer?
    private let told: @Sendable (Event) -> Void
    private let credit: StreamCredit?

    /// A call; it begins with `begin`.
    ///
    /// - Parameters:
    ///   - credit: how far what is told may be ahead of what was granted; nil for any distance.
    ///   - read: what a message says, in their order; nil when that is nothing. What it throws ends the call.
    ///   - told: called with each event, one after the other; it returns quickly, and calls nothing of this.
    init(
      _ line: GRPCLine, _ method: MethodDescriptor, _ metadata: Metadata, closing: Closing,
      credit: StreamCredit? = nil,
      read: @escaping @Sendable (ReceivedMessage<Response>) throws -> Answer?,
      _ told: @escaping @Sendable (Event) -> Void
    ) {
      self.line = line
      self.method = method
      self.metadata = metadata
      self.closing = closing
      self.read = read
      self.told = told
      self.credit = credit
      (requests, outbound) = AsyncStream.makeStream()
    }

    /// Begins to open it; returns at once.
    func begin() {
      let body: @Sendable () async -> Void = { [self] in
        guard !isCut.withLock({ $0 }) else { return }
        end(await run())
      }
      task.withLock { task in
        task =
          switch closing {
          case .cancelling: Task { await body() }
          case .finishing(let others): others.add(body)
          }
      }
    }

    /// Sends a message, once it is open.
    func send(_ message: Request) { outbound.yield(message) }

    /// The oldest message that was told and not granted was taken in.
    func grant() { credit?.grant() }

    /// Ends it: that it has ended is told soon, and nothing else.
    func close() {
      isCut.withLock { $0 = true }
      outbound.finish()
      credit?.end()
      Task {
        end(nil)
        if case .finishing = closing { try? await line.sleep(line.linger) }
        task.withLock { $0 }?.cancel()
      }
    }

    /// - Returns: why it ended.
    private func run() async -> StatusError {
      let appToken = await line.appTokens?.current()
      if isCut.withLock({ $0 }) { return StatusError(.cancelled, "The client closed the stream.") }
      let channel: GRPCChannel
      do throws(StatusError) { channel = try line.channel() } catch { return error }
      let opening = CallOpening(on: channel)
      // A server that took the connection and says nothing would be waited for without end.
      let watch = Task {
        try await line.sleep(line.openTimeout)
        guard !opening.isOver else { return }
        line.failed(channel)
        end(line.unopened)
        task.withLock { $0 }?.cancel()
      }
      defer {
        watch.cancel()
        opening.ended()
      }
      do {
        var metadata = metadata
        metadata.add(appToken: appToken)
        let request = StreamingClientRequest<Request>(metadata: metadata) { [self] writer in
          opened(opening)
          for await message in requests {
            guard !isCut.withLock({ $0 }) else { break }
            try await writer.write(message)
          }
        }
        try await channel.client.bidirectionalStreaming(
          request: request, descriptor: method, serializer: ProtobufSerializer<Request>(),
          deserializer: ReceivedMessageDeserializer<Response>(), options: .defaults
        ) { [self] response in
          // A refusal may come before what sends messages has begun.
          opened(opening)
          var isFirst = true
          for try await message in response.messages {
            if isFirst { line.appTokens?.accepted(appToken) }
            isFirst = false
            guard let said = try read(message) else { continue }
            await credit?.take(message.size)
            tell(said)
          }
        }
        return StatusError(
          .unavailable, "The server ended the stream. The client opens another one by itself.")
      } catch {
        let failedState = await FailedCallState(opening)
        let failure = StatusError(
          error, at: line.address.description, failedState, unreadable: unreadable)
        if failure.code == .unauthenticated { line.appTokens?.refused(appToken) }
        // One that was closed before it was open may have waited for a connection that comes never.
        if failedState.isBroken(failure) { line.failed(channel) }
        return failure
      }
    }

    /// What it means that a message cannot be read. A listen would meet the same message again and again, so the next
    /// attempt is to come late.
    private var unreadable: StatusCode {
      if case .cancelling = closing { .dataLoss } else { .internal }
    }

    private func opened(_ opening: CallOpening) {
      opening.opened()
      state.withLock { state in
        guard case .opening = state else { return }
        state = .open
        told(.opened)
      }
    }

    private func tell(_ said: Answer) {
      state.withLock { state in if case .open = state { told(.said(said)) } }
    }

    private func end(_ error: StatusError?) {
      outbound.finish()
      state.withLock { state in
        if case .closed = state { return }
        state = .closed
        told(.closed(error))
      }
    }
  }
#endif
