package import ConiferTree
package import ConiferWire

/// What the server is to do when the connection ends.
package enum DisconnectRequest: Hashable, Sendable {
  /// Replaces a node.
  case put(Path, Node)
  /// Replaces several nodes below a path; their paths are relative.
  case merge(Path, [NodeChange])
  /// Cancels what was to happen at and below a path.
  case cancel(Path)

  /// Where.
  package var path: Path {
    switch self {
    case .put(let path, _), .merge(let path, _), .cancel(let path): return path
    }
  }

  /// The request that carries it.
  package var request: Request {
    switch self {
    case .put(let path, let node): return .onDisconnectPut(path, node)
    case .merge(let path, let changes): return .onDisconnectMerge(path, changes)
    case .cancel(let path): return .onDisconnectCancel(path)
    }
  }
}
