import ConiferDocumentSync
import ConiferEngine
import ConiferWire

/// The number of a stream among those that were opened, so that late events of an earlier one are ignored.
typealias StreamNumber = UInt64

/// One stream to the server over all its connections. It decides when the stream is opened and
/// closed, and holds the open one.
final class ServerStream<Stream> {
  private enum State {
    case closed
    /// It waits for the user's token.
    case waiting
    case open(Stream, token: String?)
  }

  private var machine = StreamMachine()
  private var state = State.closed
  private(set) var number: StreamNumber = 0
  private let setup: FirestoreConfiguration
  private let user: SignedInUser
  /// Opens a stream with a token and a number.
  private let connect: (String?, StreamNumber) -> Stream?
  private let end: (Stream) -> Void
  /// Reports the error that kept the stream from being opened.
  private let failed: (StatusError, StreamNumber) -> Void

  init(
    _ setup: FirestoreConfiguration, _ user: SignedInUser,
    connect: @escaping (String?, StreamNumber) -> Stream?, end: @escaping (Stream) -> Void,
    failed: @escaping (StatusError, StreamNumber) -> Void
  ) {
    self.setup = setup
    self.user = user
    self.connect = connect
    self.end = end
    self.failed = failed
  }

  private var now: Milliseconds { setup.clock.now }

  /// The stream, if there is one.
  var stream: Stream? { if case .open(let stream, _) = state { stream } else { nil } }
  /// When `tick` is to be called.
  var deadline: Milliseconds? { machine.deadline }

  // MARK: What is wanted

  /// The stream is needed.
  ///
  /// - Returns: whether it is being opened now, rather than after its back-off.
  func start() -> Bool {
    carryOut(machine.start(at: now, jitter: Double(setup.random() >> 11) / Double(1 << 53)))
  }

  /// The time of `deadline` has come; harmless before.
  ///
  /// - Returns: whether the stream is being opened now.
  func tick() -> Bool { carryOut(machine.tick(at: now)) }

  /// An attempt that waits for its time is made now.
  ///
  /// - Returns: whether the stream is being opened now.
  func skipBackoff() -> Bool { carryOut(machine.skipBackoff(at: now)) }

  /// Nothing is to be sent any more.
  func idle() { machine.idle(at: now) }
  /// Something is sent.
  func used() { machine.used() }
  /// The server said something that shows that all is well.
  func served() { machine.served() }
  /// The last failure was caused by one request, so the next attempt need not wait.
  func inhibitBackoff() { machine.inhibitBackoff() }

  /// Closes the stream. No event of it is reported after that.
  func close() {
    _ = machine.stop()
    drop()
  }

  private func drop() {
    number += 1
    if let stream { end(stream) }
    state = .closed
  }

  /// - Parameter token: that of the stream that has ended, if one has.
  private func carryOut(_ actions: [StreamMachine.Action], token: String? = nil) -> Bool {
    var isOpening = false
    for action in actions {
      switch action {
      case .open:
        isOpening = true
        state = .waiting
        number += 1
      case .close: if let stream { end(stream) }
      case .invalidateToken: user.invalidate(token)
      }
    }
    return isOpening
  }

  /// Opens the stream that `start`, `tick` or `skipBackoff` began, as soon as the user's token is there.
  func open() {
    let number = number
    user.withToken { [self] answer in
      guard number == self.number, case .waiting = state else { return }
      switch answer {
      case .success(let token):
        if let stream = connect(token, number) { state = .open(stream, token: token) }
      case .failure(let error): failed(error, number)
      }
    }
  }

  // MARK: What happens

  /// The stream is open.
  func opened() { machine.opened() }

  /// The stream has ended.
  ///
  /// - Parameter error: why; nil when it was closed since it was idle.
  func closed(_ error: StatusError?) {
    let token: String? = if case .open(_, let token) = state { token } else { nil }
    state = .closed
    number += 1
    if let error { _ = carryOut(machine.failed(error), token: token) } else { _ = machine.stop() }
  }
}
