#if Network
  import ConiferServer
  import ConiferWire
  import NIOCore
  import Synchronization

  /// What a server says to one session, in line until the session's loop takes it out; and what the
  /// session asked and was not answered.
  final class SessionLine: Sendable {
    /// What lies in line.
    enum Item: Sendable {
      /// With what stands for an answer's data that is not there.
      case message(ServerMessage, nothing: EmptyAnswer)
      case closed(String)
    }

    private struct Open {
      var items = CircularBuffer<Item>()
      /// Tells the loop that something lies here.
      let call: @Sendable () -> Void
      /// Whether the loop was told.
      var isCalled = false
      /// Whether the server said its last.
      var isOver = false
      /// The requests without answers; the server answers in their order.
      var unanswered = CircularBuffer<Question>()
      var sum = Unanswered()
    }

    private struct Question {
      let bytes: Int
      let memory: Int
      let nothing: EmptyAnswer
    }

    /// The requests that have no answers.
    struct Unanswered {
      var count = 0
      /// The bytes of their texts.
      var bytes = 0
      /// About the memory that they take.
      var memory = 0
    }

    private enum State {
      case open(Open)
      /// Nothing is held, not even whom it would tell: that one holds this. The server has the line
      /// until it is done with what the session asked, and so long that counts.
      case closed(MemoryShare?)
    }

    private let state: Mutex<State>

    /// - Parameter call: tells the loop that something lies here; called on any thread, must not wait.
    ///   It is held until the line is closed.
    init(call: @escaping @Sendable () -> Void) { state = Mutex(.open(Open(call: call))) }

    /// Does something with the line; nil when it is closed.
    private func withOpen<Result>(_ body: (inout Open) -> Result) -> Result? {
      state.withLock { state in
        guard case .open(var open) = state else { return nil }
        // Not held twice while it changes.
        state = .closed(nil)
        defer { state = .open(open) }
        return body(&open)
      }
    }

    /// Takes what the server says; called while its database is locked.
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

    /// Takes the next item out; nil when there is none, and the loop will be called for the next one.
    func next() -> Item? {
      withOpen { line -> Item? in
        if let item = line.items.popFirst() { return item }
        line.isCalled = false
        return nil
      } ?? nil
    }

    /// Forgets all, and takes nothing more.
    ///
    /// - Parameter share: what requests take that the server has not handled.
    func close(leaving share: MemoryShare) {
      // What is forgotten goes when the lock is open again.
      let forgotten = state.withLock { state in
        defer { state = .closed(share) }
        return state
      }
      _ = forgotten
    }

    // MARK: Requests

    /// Takes note of what goes to the server, if it will be answered.
    ///
    /// - Parameters:
    ///   - bytes: of its text.
    ///   - memory: about what it takes until then.
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
