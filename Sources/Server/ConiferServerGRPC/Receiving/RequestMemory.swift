#if GRPC
  import ConiferWire
  import Synchronization

  /// The memory that requests take which are being received, or wait to be read, of all calls together.
  final class RequestMemory: Sendable {
    private struct State {
      var bytes = 0
      var last: UInt64 = 0
      var shares: [UInt64: RequestShare] = [:]
    }

    /// Whoever has no more than this may have it, whatever others have.
    private static let least = 16 << 10

    /// The bytes that all requests may take.
    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) { self.limit = limit }

    /// How many bytes are taken now.
    var count: Int { state.withLock { $0.bytes } }

    /// Begins a call.
    ///
    /// - Returns: its part of the memory, which is there under its number until `end`.
    func begin() -> RequestShare {
      state.withLock { state in
        state.last += 1
        let share = RequestShare(of: self, number: state.last)
        state.shares[state.last] = share
        return share
      }
    }

    /// The part of a call; nil once it has ended.
    func share(_ number: UInt64) -> RequestShare? { state.withLock { $0.shares[number] } }

    fileprivate func claim(_ bytes: Int, of held: Int) -> Bool {
      state.withLock { state in
        guard state.bytes + bytes <= limit || held + bytes <= Self.least else { return false }
        state.bytes += bytes
        return true
      }
    }

    fileprivate func release(_ bytes: Int) { state.withLock { $0.bytes -= bytes } }

    fileprivate func end(_ number: UInt64, holding bytes: Int) {
      state.withLock { state in
        state.bytes -= bytes
        state.shares[number] = nil
      }
    }
  }

  /// One call's part of the memory for requests. A message counts from its first byte until the next one is asked for, or
  /// the call has ended.
  final class RequestShare: Sendable {
    private struct State {
      /// The bytes of the message that is not whole yet.
      var partial = 0
      /// Those of each message that is whole: first the one that is being dealt with, if there is one.
      var whole = FIFO<Int>()
      var bytes = 0
      /// Whether a message was asked for.
      var isRead = false
      var hasEnded = false
    }

    let number: UInt64
    private let memory: RequestMemory
    private let state = Mutex(State())

    fileprivate init(of memory: RequestMemory, number: UInt64) {
      self.memory = memory
      self.number = number
    }

    /// Takes in bytes of a message.
    ///
    /// - Returns: false when there is no room for them; they are not counted then.
    func receive(_ bytes: Int) -> Bool {
      state.withLock { state in
        if state.hasEnded { return true }
        guard memory.claim(bytes, of: state.bytes) else { return false }
        state.bytes += bytes
        state.partial += bytes
        return true
      }
    }

    /// The message is whole.
    func finishMessage() {
      state.withLock { state in
        state.whole.append(state.partial)
        state.partial = 0
      }
    }

    /// The next message is asked for: the one before it is done with.
    func readNext() {
      state.withLock { state in
        defer { state.isRead = true }
        guard state.isRead, !state.hasEnded, let bytes = state.whole.popFirst() else { return }
        state.bytes -= bytes
        memory.release(bytes)
      }
    }

    /// The call has ended; it may be told more than once.
    func end() {
      state.withLock { state in
        if state.hasEnded { return }
        state.hasEnded = true
        memory.end(number, holding: state.bytes)
      }
    }
  }
#endif
