import Synchronization

/// How many more messages a stream may deliver before its client, which handles them later and in
/// order, has handled earlier ones. Without credit the stream waits.
package final class StreamCredit: Sendable {
  private struct State {
    /// The bytes of each message that was handed on and not taken in.
    var ahead: FIFO<Int> = FIFO()
    var bytes = 0
    /// Who waits to hand on a message of so many bytes.
    var waiting: (bytes: Int, continuation: CheckedContinuation<Void, Never>)?
    var hasEnded = false
  }

  private let messages: Int
  private let bytes: Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - messages: how many may be ahead of the client.
  ///   - bytes: how many bytes these take at most; one message may be ahead however large it is.
  package init(_ messages: Int, bytes: Int = .max) {
    self.messages = messages
    self.bytes = bytes
  }

  /// Waits until a message may be delivered, and counts it. Only one caller may wait at a time.
  package func take(_ bytes: Int = 0) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isFree = state.withLock { state in
          if state.hasEnded || hand(bytes, &state) { return true }
          state.waiting = (bytes, continuation)
          return false
        }
        if isFree { continuation.resume() }
      }
    } onCancel: {
      end()
    }
  }

  private func hand(_ bytes: Int, _ state: inout State) -> Bool {
    let isNext = state.ahead.isEmpty || bytes <= self.bytes - state.bytes
    guard state.ahead.count < messages, isNext else { return false }
    state.ahead.append(bytes)
    state.bytes += bytes
    return true
  }

  /// The oldest message that is ahead was taken in.
  package func grant() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if let bytes = state.ahead.popFirst() { state.bytes -= bytes }
      guard let (bytes, continuation) = state.waiting, hand(bytes, &state) else { return nil }
      state.waiting = nil
      return continuation
    }
    waiting?.resume()
  }

  /// Nobody waits any more.
  package func end() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.hasEnded = true
      defer { state.waiting = nil }
      return state.waiting?.continuation
    }
    waiting?.resume()
  }
}
