import ConiferTree
import ConiferWire

/// The numbers of messages of each kind that an in-process transport has delivered.
public struct DeliveryCounts: Hashable, Sendable {
  /// Connections that opened.
  public var connections = 0
  /// Requests that reached the server, by kind.
  public var listens = 0
  /// Ends of listens that reached the server.
  public var unlistens = 0
  /// Gets that reached the server.
  public var gets = 0
  /// Puts and merges that reached the server, also those that it refused.
  public var writes = 0
  /// onDisconnect operations that reached the server.
  public var disconnectOperations = 0
  /// Tokens that reached the server.
  public var authentications = 0
  /// Overwrites that reached the client.
  public var overwrites = 0
  /// Merges that reached the client.
  public var merges = 0
  /// Range merges that reached the client, each of one or more ranges.
  public var rangeMerges = 0
  /// Answers that reached the client.
  public var responses = 0
  /// Bytes of data in pushes and answers, by the Realtime Database's estimate.
  public var dataBytes = 0
  /// All messages that reached the server.
  public var toServer = 0
  /// All messages that reached the client.
  public var toClient = 0

  /// No message.
  public init() {}

  /// Overwrites and merges that reached the client.
  public var dataUpdates: Int { overwrites + merges }

  mutating func count(_ message: ClientMessage) {
    toServer += 1
    guard case .request(_, let request) = message else { return }
    switch request {
    case .listen: listens += 1
    case .unlisten: unlistens += 1
    case .get: gets += 1
    case .put, .merge: writes += 1
    case .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel: disconnectOperations += 1
    case .authenticate: authentications += 1
    case .unauthenticate, .appCheck, .stats: break
    }
  }

  mutating func count(_ message: ServerMessage) {
    toClient += 1
    switch message {
    case .hello: connections += 1
    case .response(_, let response):
      responses += 1
      if !response.node.isEmpty { dataBytes += response.node.estimatedSize }
    case .push(.overwrite(_, let node, _)):
      overwrites += 1
      dataBytes += node.estimatedSize
    case .push(.merge(_, let changes, _)):
      merges += 1
      dataBytes += changes.reduce(0) { $0 + $1.node.estimatedSize }
    case .push(.rangeMerge(_, let ranges, _)):
      rangeMerges += 1
      dataBytes += ranges.reduce(0) { $0 + $1.node.estimatedSize }
    default: break
    }
  }
}
