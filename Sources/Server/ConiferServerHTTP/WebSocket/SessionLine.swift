#if Network
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

    private struct State {
      var items = CircularBuffer<Item>()
      /// Whether the loop was told that something lies here.
      var isCalled = false
      var isClosed = false
      /// The requests without answers; the server answers in their order.
      var unanswered = CircularBuffer<(bytes: Int, nothing: EmptyAnswer)>()
      var unansweredBytes = 0
    }

    private let state = Mutex(State())
    private let call: @Sendable () -> Void

    /// - Parameter call: tells the loop that something lies here; called on any thread, must not wait.
    init(call: @escaping @Sendable () -> Void) { self.call = call }

    /// Takes what the server says; called while its database is locked.
    func receive(_ event: TransportEvent) {
      let isFirst = state.withLock { state in
        if state.isClosed { return false }
        switch event {
        case .message(let message):
          var nothing = EmptyAnswer.object
          if case .response = message, let asked = state.unanswered.popFirst() {
            state.unansweredBytes -= asked.bytes
            nothing = asked.nothing
          }
          state.items.append(.message(message, nothing: nothing))
        case .closed(let reason):
          state.items.append(.closed(reason))
          state.isClosed = true
        }
        defer { state.isCalled = true }
        return !state.isCalled
      }
      if isFirst { call() }
    }

    /// Takes the next item out; nil when there is none, and the loop will be called for the next one.
    func next() -> Item? {
      state.withLock { state in
        if let item = state.items.popFirst() { return item }
        state.isCalled = false
        return nil
      }
    }

    /// Forgets all, and takes nothing more.
    func close() {
      state.withLock { state in
        state.isClosed = true
        state.items.removeAll()
      }
    }

    // MARK: Requests

    /// Takes note of what goes to the server, if it will be answered.
    func ask(_ message: ClientMessage, _ bytes: Int) {
      let nothing: EmptyAnswer
      switch message {
      case .request(_, let request): nothing = request.emptyAnswer
      case .unknown(.some, _), .invalid: nothing = .text
      default: return
      }
      state.withLock { state in
        state.unanswered.append((bytes, nothing))
        state.unansweredBytes += bytes
      }
    }

    /// How many requests have no answer, and their bytes.
    var unanswered: (count: Int, bytes: Int) {
      state.withLock { ($0.unanswered.count, $0.unansweredBytes) }
    }
  }
#endif
