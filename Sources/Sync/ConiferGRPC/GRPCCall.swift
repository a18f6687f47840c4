#if GRPC
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf
  import Synchronization

  /// A call that sends and receives messages until one side ends it.
  final class GRPCCall<
    Request: SwiftProtobuf.Message, Response: SwiftProtobuf.Message, Said: Sendable
  >: Sendable {
    /// What happens on a call.
    enum Event: Sendable {
      /// Messages reach the server.
      case opened
      /// The server said something.
      case said(Said)
      /// It has ended; nil when the client closed it.
      case closed(StatusError?)
    }

    /// How the client closes a call.
    enum Closing: Sendable {
      /// At once.
      case cancelling
      /// The server has a moment to read what was sent.
      case finishing
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
    private let hasOpened = Mutex(false)
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let read: @Sendable (Response) throws -> Said?
    private let told: @Sendable (Event) -> Void
    private let credit: StreamCredit

    /// How long the server may read after the client has finished.
    private static var linger: Duration { .seconds(2) }

    /// A call; it begins with `begin`.
    ///
    /// - Parameters:
    ///   - ahead: how much is told that was not granted.
    ///   - read: what a message says, in their order; nil when that is nothing. What it throws ends the call.
    ///   - told: called with each event, one after the other; it returns quickly, and calls nothing of this.
    init(
      _ line: GRPCLine, _ method: MethodDescriptor, _ metadata: Metadata, closing: Closing,
      ahead: Int, read: @escaping @Sendable (Response) throws -> Said?,
      _ told: @escaping @Sendable (Event) -> Void
    ) {
      self.line = line
      self.method = method
      self.metadata = metadata
      self.closing = closing
      self.read = read
      self.told = told
      credit = StreamCredit(ahead)
      (requests, outbound) = AsyncStream.makeStream()
    }

    /// Begins to open it; returns at once.
    func begin() {
      task.withLock { task in
        task = Task { end(await run()) }
      }
    }

    /// Sends a message, once it is open.
    func send(_ message: Request) { outbound.yield(message) }

    /// More may be said, by one.
    func grant() { credit.grant() }

    /// Ends it: that it has ended is told soon, and nothing else.
    func close() {
      outbound.finish()
      credit.end()
      Task {
        end(nil)
        if closing == .finishing { try? await Task.sleep(for: Self.linger) }
        task.withLock { $0 }?.cancel()
      }
    }

    /// - Returns: why it ended.
    private func run() async -> StatusError {
      let channel: GRPCLine.Channel
      do throws(StatusError) { channel = try line.channel() } catch { return error }
      // A server that took the connection and says nothing would be waited for without end.
      let watch = Task {
        try await Task.sleep(for: line.openTimeout)
        guard !hasOpened.withLock({ $0 }) else { return }
        line.failed(channel)
        end(line.unopened)
        task.withLock { $0 }?.cancel()
      }
      defer { watch.cancel() }
      do {
        let request = StreamingClientRequest<Request>(metadata: metadata) { [self] writer in
          opened()
          for await message in requests { try await writer.write(message) }
        }
        try await channel.client.bidirectionalStreaming(
          request: request, descriptor: method, serializer: ProtobufSerializer<Request>(),
          deserializer: ProtobufDeserializer<Response>(), options: .defaults
        ) { [self] response in
          for try await message in response.messages {
            opened()
            guard let said = try read(message) else { continue }
            await credit.take()
            tell(said)
          }
        }
        return StatusError(
          .unavailable, "The server ended the stream. The client opens another one by itself.")
      } catch {
        let wasOpened = hasOpened.withLock { $0 }
        let failure = StatusError(
          error, at: line.address.description, wasOpened: wasOpened, unreadable: unreadable)
        // One that was closed before it was open may have waited for a connection that comes never.
        if failure.code == .unavailable || !wasOpened { line.failed(channel) }
        return failure
      }
    }

    /// What it means that a message cannot be read. A listen would meet the same message again and again, so the next
    /// attempt is to come late.
    private var unreadable: StatusCode { closing == .cancelling ? .dataLoss : .internal }

    private func opened() {
      hasOpened.withLock { $0 = true }
      state.withLock { state in
        guard case .opening = state else { return }
        state = .open
        told(.opened)
      }
    }

    private func tell(_ said: Said) {
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
