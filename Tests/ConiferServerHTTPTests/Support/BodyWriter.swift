import ConiferServerHTTP
import Synchronization

/// The writing end of a streamed body: takes bytes at any moment, and holds no more of what the
/// client has not read than it may.
///
/// All members may be called from any thread.
final class BodyWriter: Sendable {
  private struct State {
    var chunks: [[UInt8]] = []
    var bytes = 0
    var isFinished = false
    var reader: CheckedContinuation<[UInt8]?, Never>?
    var onEnd: (@Sendable () -> Void)?

    /// Ends the body; what is left to be told is for after the lock.
    mutating func end(
      dropping: Bool
    ) -> (CheckedContinuation<[UInt8]?, Never>?, (@Sendable () -> Void)?) {
      isFinished = true
      if dropping {
        chunks = []
        bytes = 0
      }
      // A reader that waits has read all there was.
      return (reader.take(), onEnd.take())
    }
  }

  private let limit: Int
  private let state: Mutex<State>

  /// The writing end of a new body.
  ///
  /// - Parameters:
  ///   - limit: the bytes that may wait for the client; one write may pass it.
  ///   - onEnd: called once, when the body was finished, passed the limit, or is read no longer.
  init(limit: Int = 16 * 1024 * 1024, onEnd: (@Sendable () -> Void)? = nil) {
    self.limit = limit
    state = Mutex(State(onEnd: onEnd))
  }

  /// The body, for one answer.
  var body: HTTPResponse.Body {
    // The stream's end is what tells of a client that went, also while nobody waits for bytes.
    .stream(AsyncStream(unfolding: { await self.next() }, onCancel: { self.end(dropping: true) }))
  }

  /// Writes bytes; never waits.
  ///
  /// - Returns: false when the body has ended, which it does when too much waits: the client reads too
  ///   slowly, and is to ask again.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    if bytes.isEmpty { return state.withLock { !$0.isFinished } }
    let (reader, isOpen, isOver) = state.withLock {
      state -> (CheckedContinuation<[UInt8]?, Never>?, Bool, Bool) in
      if state.isFinished { return (nil, false, false) }
      if let reader = state.reader.take() { return (reader, true, false) }
      if state.bytes > limit { return (nil, false, true) }
      state.chunks.append(bytes)
      state.bytes += bytes.count
      return (nil, true, false)
    }
    if isOver { end(dropping: true) }
    reader?.resume(returning: bytes)
    return isOpen
  }

  /// Ends the body after what was written.
  func finish() { end(dropping: false) }

  private func end(dropping: Bool) {
    let (reader, onEnd) = state.withLock { $0.end(dropping: dropping) }
    reader?.resume(returning: nil)
    onEnd?()
  }

  /// All that was written since; nil at the end.
  private func next() async -> [UInt8]? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (bytes, isOver) = state.withLock { state -> ([UInt8]?, Bool) in
          if !state.chunks.isEmpty {
            let bytes = state.chunks.count == 1 ? state.chunks[0] : Array(state.chunks.joined())
            state.chunks = []
            state.bytes = 0
            return (bytes, true)
          }
          if state.isFinished || Task.isCancelled { return (nil, true) }
          state.reader = continuation
          return (nil, false)
        }
        if isOver { continuation.resume(returning: bytes) }
      }
    } onCancel: {
      end(dropping: true)
    }
  }
}
