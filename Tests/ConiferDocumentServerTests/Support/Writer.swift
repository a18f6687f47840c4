import ConiferDocument
import ConiferWire
import Synchronization

/// A client's end of a stream of writes.
final class Writer: Sendable {
  struct State: Sendable {
    var isOpen = false
    var greeted: [UInt8]?
    var token: [UInt8] = []
    var answers: [CommitResult] = []
    var closed: StatusError??
    var stream: (any WriteStream)?
  }

  private let state = Mutex(State())

  init(_ service: any DocumentService, token: String? = nil) {
    let stream = service.openWrites(token: token) { [weak self] event in
      self?.state.withLock { state in
        switch event {
        case .opened: state.isOpen = true
        case .greeted(let token):
          state.greeted = token
          state.token = token
        case .answered(let result, let token):
          state.answers.append(result)
          state.token = token
        case .closed(let error): state.closed = .some(error)
        }
      }
    }
    state.withLock { $0.stream = stream }
  }

  var now: State { state.withLock { $0 } }

  func greet(_ token: [UInt8] = []) { now.stream?.greet(token: token) }

  func send(_ writes: Mutation..., batch: Int64? = nil, token: [UInt8]? = nil) {
    let now = now
    now.stream?.send(writes, batch: batch, token: token ?? now.token)
  }

  func close() { now.stream?.close() }
}
