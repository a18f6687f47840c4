import ConiferKeyValue
import Synchronization

/// A scheduler for tests, which delivers the messages of some transports one at a time, when `step`
/// is called, in an order that a seed determines. The messages of one direction of a connection
/// stay in order; others may overtake each other.
///
/// All deliveries happen on the thread that calls `step`, so that a test whose clients have no
/// threads either runs the same each time.
public final class DeliveryPump: Sendable {
  private struct State {
    var connections: [InProcessConnection] = []
    var random: SplitMix64
  }

  private let state: Mutex<State>

  /// A pump.
  ///
  /// - Parameter seed: decides the order.
  public init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

  /// Delivers one message.
  ///
  /// - Returns: false when there is none, or all of them are held.
  @discardableResult
  public func step() -> Bool {
    let next = state.withLock { state in
      state.connections.removeAll { $0.isDone }
      var ready: [(InProcessConnection, InProcessTransport.Direction)] = []
      for connection in state.connections {
        for direction in InProcessTransport.Direction.allCases where connection.isReady(direction) {
          ready.append((connection, direction))
        }
      }
      return ready.randomElement(using: &state.random)
    }
    guard let (connection, direction) = next else { return false }
    connection.deliver(direction)
    return true
  }

  /// Delivers messages until there is none.
  ///
  /// - Parameter limit: the maximum number of messages.
  /// - Returns: how many were delivered.
  @discardableResult
  public func run(limit: Int = .max) -> Int {
    var count = 0
    while count < limit, step() { count += 1 }
    return count
  }

  func add(_ connection: InProcessConnection) {
    state.withLock { $0.connections.append(connection) }
  }
}
