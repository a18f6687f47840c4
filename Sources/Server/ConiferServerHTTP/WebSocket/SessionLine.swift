#if Network
  import ConiferServer
  import ConiferWire
  import NIOCore
  import Synchronization

  /// The queue of the server's messages to one session, until the session's event loop sends them;
  /// and the session's unanswered requests.
  final class SessionLine: Sendable {
    /// A queued item.
    enum Item: Sendable {
      /// A message, with the placeholder for missing data of an answer.
      case message(ServerMessage, nothing: EmptyAnswer)
      case closed(String)
    }

    private struct Open {
      var items = CircularBuffer<Item>()
      /// Wakes the loop when the queue is not empty.
      let call: @Sendable () -> Void
      /// Whether the loop was woken.
      var isCalled = false
      /// Whether the server ended the session.
      var isOver = false
      /// A request without an answer; the server answers in order.
      var unanswered = CircularBuffer<Question>()
      var sum = Unanswered()
    }

    private struct Question {
      let bytes: Int
      let memory: Int
      let nothing: EmptyAnswer
    }

    /// The unanswered requests.
    struct Unanswered {
      var count = 0
      /// The bytes of their texts.
      var bytes = 0
      /// Their approximate memory.
      var memory = 0
    }

    private enum State {
      case open(Open)
      /// Closed: nothing is kept, not even the reference to the loop's handler, which refers to
      /// this queue. The server keeps the queue until it has handled the session's requests, and
      /// their memory counts until then.
      case closed(MemoryShare?)
    }

    private let state: Mutex<State>

    /// - Parameter call: wakes the loop; called on any thread, must not wait. It is kept until the
    ///   queue is closed.
    init(call: @escaping @Sendable () -> Void) { state = Mutex(.open(Open(call: call))) }

    /// Calls a closure with the open queue; nil when it is closed.
    private func withOpen<Result>(_ body: (inout Open) -> Result) -> Result? {
      state.withLock { state in
        guard case .open(var open) = state else { return nil }
        // Moved out, so that the change does not copy it.
        state = .closed(nil)
        defer { state = .open(open) }
        return body(&open)
      }
    }

    /// Queues an event of the server; called while its database is locked.
    func receive(_ event: TransportEvent) {
      let call = withOpen { line -> (@Sendable () -> Void)? in
        if line.isOver { return nil }
        switch event {
        case .message(let message):
          var nothing = EmptyAnswer.object
          if case .response = message, let asked = line.unanswered.popFirst() {
            line.sum.count -= 1
            line.sum.bytes -= asked.bytes
            line.sum.memory -= asked.memory
            nothing = asked.nothing
          }
          line.items.append(.message(message, nothing: nothing))
        case .closed(let reason):
          line.items.append(.closed(reason))
          line.isOver = true
        }
        defer { line.isCalled = true }
        return line.isCalled ? nil : line.call
      }
      call??()
    }

    /// Removes the next item; nil when there is none, and the loop is woken for the next one.
    func next() -> Item? {
      withOpen { line -> Item? in
        if let item = line.items.popFirst() { return item }
        line.isCalled = false
        return nil
      } ?? nil
    }

    /// Drops all items, and accepts no more.
    ///
    /// - Parameter share: the memory of requests that the server has not handled.
    func close(leaving share: MemoryShare) {
      // The dropped items are freed after the lock is released.
      let forgotten = state.withLock { state in
        defer { state = .closed(share) }
        return state
      }
      _ = forgotten
    }

    // MARK: Requests

    /// Counts a message to the server, if it will be answered.
    ///
    /// - Parameters:
    ///   - bytes: the length of its text.
    ///   - memory: its approximate memory until the answer.
    func ask(_ message: ClientMessage, _ bytes: Int, memory: Int = 0) {
      let nothing: EmptyAnswer
      switch message {
      case .request(_, let request): nothing = request.emptyAnswer
      case .unknown(.some, _), .invalid, .tooLarge: nothing = .text
      default: return
      }
      _ = withOpen { line in
        line.unanswered.append(Question(bytes: bytes, memory: memory, nothing: nothing))
        line.sum.count += 1
        line.sum.bytes += bytes
        line.sum.memory += memory
      }
    }

    /// The requests that have no answers.
    var unanswered: Unanswered { withOpen { $0.sum } ?? Unanswered() }
  }
#endif
