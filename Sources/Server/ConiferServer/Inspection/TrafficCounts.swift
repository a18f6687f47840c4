import ConiferTree
import ConiferWire

/// The traffic of a database since it is served. Each number only grows, so the difference of two
/// readings is a rate.
package struct TrafficCounts: Hashable, Sendable {
  /// Requests of sessions and writes of the server itself, refused ones included.
  package var requests = 0
  /// Pushes of data to sessions.
  package var pushes = 0
  /// Bytes of data in requests, by the Realtime Database's estimate.
  package var receivedBytes = 0
  /// Bytes of data in pushes and answers, by the same estimate.
  package var sentBytes = 0
  /// Writes that changed data.
  package var changes = 0

  /// No traffic.
  package init() {}

  mutating func count(_ request: Request) {
    requests += 1
    switch request {
    case .put(_, let node, _), .onDisconnectPut(_, let node): receivedBytes += node.estimatedSize
    case .merge(_, let changes), .onDisconnectMerge(_, let changes):
      for change in changes { receivedBytes += change.node.estimatedSize }
    default: break
    }
  }

  mutating func count(_ message: ServerMessage) {
    switch message {
    case .push(.overwrite(_, let node, _)):
      pushes += 1
      sentBytes += node.estimatedSize
    case .push(.merge(_, let changes, _)):
      pushes += 1
      for change in changes { sentBytes += change.node.estimatedSize }
    case .push(.rangeMerge(_, let ranges, _)):
      pushes += 1
      for range in ranges { sentBytes += range.node.estimatedSize }
    case .response(_, let response):
      if !response.node.isEmpty { sentBytes += response.node.estimatedSize }
    default: break
    }
  }
}
