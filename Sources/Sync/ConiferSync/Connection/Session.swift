import ConiferTree
import ConiferWire

/// What holds as long as one connection stands.
struct Session: Sendable {
  /// Whether the server was asked for a sign of life.
  enum Probe {
    case none
    /// At an uptime, and nothing came since.
    case asked(Milliseconds)
    /// The transport cannot ask.
    case impossible
  }

  /// What the server has made of who the client is.
  enum Standing {
    /// Nothing yet.
    case unknown
    /// It did not take the token, or no longer does: other refusals may be due to that alone.
    case refused
    /// It knows the client. Writes leave when the first of the queue came, so that the order of all is known.
    case accepted(sendsWrites: Bool)
  }

  /// The connection.
  let number: ConnectionNumber
  /// The uptime of its hello.
  let opened: Milliseconds
  /// When something was last sent.
  var lastSent: Milliseconds
  /// When something last came.
  private(set) var lastReceived: Milliseconds
  var probe = Probe.none
  /// The last request's number.
  var lastRequest: UInt64 = 0
  /// The requests without an answer.
  var unanswered = Unanswered()
  /// The last request that says who the client is, until it is answered.
  var authRequest: UInt64?
  var standing = Standing.unknown

  init(_ number: ConnectionNumber, at now: Milliseconds) {
    self.number = number
    opened = now
    lastSent = now
    lastReceived = now
  }

  /// Whether the server knows who the client is.
  var isAccepted: Bool { if case .accepted = standing { true } else { false } }
  var isRefused: Bool { if case .refused = standing { true } else { false } }
  var sendsWrites: Bool { if case .accepted(sendsWrites: true) = standing { true } else { false } }

  /// Lets writes leave, or no longer; nothing changes before the server knows the client.
  mutating func setSendsWrites(_ sendsWrites: Bool) {
    if isAccepted { standing = .accepted(sendsWrites: sendsWrites) }
  }

  /// Notes that something came.
  mutating func hear(at time: Milliseconds) {
    lastReceived = time
    if case .asked = probe { probe = .none }
  }

  /// Notes that the transport cannot ask for a sign of life.
  mutating func cannotProbe(_ number: ConnectionNumber) {
    if number == self.number { probe = .impossible }
  }
}

/// An answer that waits until fresh data covers what it uncovers.
struct HeldAnswer: Sendable {
  enum About: Sendable {
    /// With the places that it changed, as in a put.
    case write(OutboundWriteID, [Path])
    case put(OperationID, Path)
  }

  let about: About
  let response: Response
  /// Listens up to this request must be answered first.
  let after: UInt64
  /// Whether it is handed on without them.
  var isEarly = false
}
