import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// The engine's end of the connection: the state machine that decides, the actions that it has
/// asked for and that are not carried out yet, and the transport's present connection.
final class Connection {
  private var machine: ConnectionMachine?
  private var transportConnection: (any TransportConnection)?
  /// The number of the transport's connection.
  private var number: ConnectionNumber?
  /// The watch that reports that the network may have returned.
  private var watch: (any NetworkWatch)?
  /// How many messages of the connection were handled for which no credit was granted yet.
  private var handled = 0
  private var actions: [ConnectionAction] = []
  private let setup: DatabaseConfiguration
  private let post: @Sendable (Step) -> Void

  /// The most messages of a server that may wait to be handled.
  private static let credit = 256

  init(_ setup: DatabaseConfiguration, _ post: @escaping @Sendable (Step) -> Void) {
    self.setup = setup
    self.post = post
  }

  deinit {
    transportConnection?.close()
    watch?.stop()
  }

  // MARK: The machine

  /// Takes the machine, which connects after ``start()``.
  func begin(_ machine: ConnectionMachine) { self.machine = machine }

  /// Lets the machine connect, where there is a transport.
  func start() {
    if let transport = setup.transport {
      watch = transport.watchNetwork { [post] in post(.tellConnection(.networkReturned)) }
    } else {
      tell(.reasonBegan(.noTransport))
    }
    tell(.reasonEnded(.starting))
  }

  /// Ends for good.
  func end() {
    machine = nil
    transportConnection = nil
    watch?.stop()
    watch = nil
  }

  /// Gives the machine an input; the actions that it asks for are carried out before the step ends.
  func tell(_ input: ConnectionInput) { actions += handle(input) }

  private func handle(_ input: ConnectionInput) -> [ConnectionAction] {
    let now = ClockReading(uptime: setup.clock.now, wallTime: setup.clock.wallTime)
    return machine?.handle(input, at: now) ?? []
  }

  /// The position of something that is issued now; nil while there is no storage.
  func takePosition() -> LanePosition? { machine?.takePosition() }

  /// The newest write, unless it may have been sent or something was issued after it.
  var lastUnsent: OutboundWriteID? { machine?.lastUnsent }

  /// Whether it is known who is signed in; nil while there is no storage.
  var identification: Identification? { machine?.identification }

  /// The identity of the lane in use; empty for nobody's.
  var identity: String { machine?.lane.identity ?? "" }

  /// Whether the server has answered a write, and the answer waits for listens.
  func isAnswerDeferred(_ id: OutboundWriteID) -> Bool { machine?.isAnswerDeferred(id) == true }

  // MARK: What it asks for

  /// Whether something is left to do.
  var hasActions: Bool { !actions.isEmpty }

  /// Adds actions to what is left to do, behind it.
  func add(_ more: [ConnectionAction]) { actions += more }

  /// Takes the actions to carry out. The caller puts back those that it does not carry out.
  func takeActions() -> [ConnectionAction] {
    defer { actions = [] }
    return actions
  }

  /// Puts back what was not done; it comes first.
  func putBack(_ rest: ArraySlice<ConnectionAction>) { actions.insert(contentsOf: rest, at: 0) }

  // MARK: The transport

  /// Takes in what happened on a connection.
  func receive(_ event: TransportEvent, _ number: ConnectionNumber) {
    tell(.event(event, number))
    guard number == self.number, case .message(let message) = event else { return }
    if MessageCredit.counts(message) { handled += 1 }
  }

  /// Grants credit for the messages that were handled, for many at a time.
  func grantCredit() {
    guard handled >= Self.credit / 4 else { return }
    transportConnection?.grantCredit(handled)
    handled = 0
  }

  /// Opens a connection, which takes the place of the one before.
  func connect(_ request: ConnectionRequest, _ number: ConnectionNumber) {
    transportConnection?.close()
    self.number = number
    handled = 0
    guard let transport = setup.transport else { return }
    var request = request
    request.credit = Self.credit
    transportConnection = transport.connect(request) { [post] event in
      post(.transportEvent(number, event))
    }
  }

  /// Closes the connection with a number, if it is the present one.
  func disconnect(_ number: ConnectionNumber) {
    guard self.number == number else { return }
    transportConnection?.close()
    transportConnection = nil
  }

  /// Asks the server for a sign of life.
  func probe(_ number: ConnectionNumber) {
    if transportConnection?.probe() != true { tell(.cannotProbe(number)) }
  }

  func send(_ message: ClientMessage) { transportConnection?.send(message) }

  /// Tells the log that the server sent the client away.
  func logShutDown(_ reason: String) {
    setup.logger.warning("the server sent the client away", metadata: ["reason": "\(reason)"])
  }

  /// Tells the log what the machine says.
  func log(_ words: String) { setup.logger.debug("\(words)") }

  /// Wakes the machine at a time.
  func wake(at moment: Milliseconds) {
    setup.clock.wake(at: moment) { [post] in post(.tellConnection(.tick)) }
  }
}
