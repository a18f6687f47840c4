public import ConiferDocument
import ConiferKeyValue
public import ConiferWire
import Synchronization

/// A connection of one client to a server in the same process, with faults that tests ask for.
///
/// The messages of one direction of a stream stay in order; streams may overtake each other, as on a network. Give
/// each client a link of its own, so that faults affect only that client. The faults are in `DocumentLink+Faults.swift`;
/// they apply from the next delivery on.
public final class DocumentLink: Sendable {
  /// Whether a link's messages are delivered in real time or by the steps of a ``DocumentPump``.
  public enum Delivery: Sendable {
    /// A serial queue for each stream, in real time.
    case queues
    /// Only calls of `DocumentPump.step`, by its time.
    case pump(DocumentPump)
  }

  /// The direction of a message, to the server or to the client.
  public enum Direction: Hashable, Sendable, CaseIterable {
    /// From the client to the server.
    case toServer
    /// From the server to the client.
    case toClient
  }

  private struct State {
    var script: LinkScript
    var counts = LinkCounts()
    var channels: [LinkChannel] = []
  }

  /// The database that it leads to.
  public let database: DatabaseID
  let host: DatabaseHost
  let connection: ConnectionID
  let delivery: Delivery
  private let state: Mutex<State>

  /// A link without faults.
  ///
  /// - Parameters:
  ///   - database: the database; one that does not exist is made, empty.
  ///   - server: the server.
  ///   - delivery: what delivers messages.
  ///   - seed: decides what happens by chance.
  public init(
    to database: DatabaseID, of server: DocumentServer, _ delivery: Delivery = .queues,
    seed: UInt64 = 0
  ) {
    self.database = database
    self.delivery = delivery
    host = server.host(database)
    connection = host.newConnection()
    state = Mutex(State(script: LinkScript(random: SplitMix64(seed: seed))))
  }

  /// What a client is made with; it leads to this server whatever host is asked for.
  public var transport: DocumentTransport {
    DocumentTransport(LinkService(self), description: "within the process") { _, _ in
      self.transport
    }
  }

  /// Counts of delivered messages since the link was made, or since `resetCounts()`.
  public var counts: LinkCounts { state.withLock { $0.counts } }

  /// Counts from zero again.
  public func resetCounts() { state.withLock { $0.counts = LinkCounts() } }

  /// Whether no message is on its way.
  public var isIdle: Bool { channels.allSatisfy(\.isIdle) }

  /// Returns when all that was sent by now is delivered to the server, the ends of streams too. Only with
  /// `Delivery.queues`.
  package func waitUntilDelivered() async {
    for channel in channels { await channel.waitUntilDelivered() }
  }

  // MARK: Channels

  var channels: [LinkChannel] { state.withLock { $0.channels } }

  func add(_ channel: LinkChannel) { state.withLock { $0.channels.append(channel) } }

  func remove(_ channel: LinkChannel) {
    state.withLock { state in state.channels.removeAll { $0 === channel } }
  }

  func script<R>(_ body: (inout LinkScript) -> R) -> R { state.withLock { body(&$0.script) } }

  func count(_ body: (inout LinkCounts) -> Void) { state.withLock { body(&$0.counts) } }
}
