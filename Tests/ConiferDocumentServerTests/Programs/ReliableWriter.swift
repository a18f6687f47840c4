import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Synchronization

/// A client that sends batches again until they are answered, and shows the token of the last answer.
final class ReliableWriter: Sendable {
  struct State: Sendable {
    var waiting: [(batch: Int64, writes: [Mutation])] = []
    var last: Int64 = 0
    var made: [(time: Timestamp, writes: [Mutation])] = []
    var token: [UInt8] = []
    var isReady = false
    var stream: (any WriteStream)?
    var refused: [StatusError] = []
  }

  private let state = Mutex(State())

  var now: State { state.withLock { $0 } }

  /// Opens a stream, when there is none.
  func open(_ service: any DocumentService) {
    if now.stream != nil { return }
    let stream = service.openWrites(token: nil) { [weak self] event in
      self?.state.withLock { $0.take(event) }
    }
    state.withLock { $0.stream = stream }
  }

  func send(_ writes: [Mutation]) {
    state.withLock { state in
      state.last += 1
      state.waiting.append((state.last, writes))
      if state.isReady { state.stream?.send(writes, batch: state.last, token: state.token) }
    }
  }
}

extension ReliableWriter.State {
  mutating func take(_ event: WriteStreamEvent) {
    switch event {
    case .opened: stream?.greet(token: token)
    case .greeted(let token):
      self.token = token
      isReady = true
      for (batch, writes) in waiting { stream?.send(writes, batch: batch, token: token) }
    case .answered(let result, let token):
      self.token = token
      made.append((result.commitTime, waiting.removeFirst().writes))
    case .closed(let error):
      if let error, error.code.isPermanentForWrites { refused.append(error) }
      isReady = false
      stream = nil
    }
  }
}
