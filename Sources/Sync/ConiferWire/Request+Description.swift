import ConiferQuery
import ConiferTree

extension Request: CustomStringConvertible {
  /// The request in one line, without data and tokens: safe for logs.
  public var description: String {
    switch self {
    case .listen(let target, let tag, let hash, let compound):
      let known = compound.map { "\($0.paths.count) ranges" } ?? (hash.isEmpty ? "" : "hash")
      return "listen \(target)\(Self.suffix(tag))\(known.isEmpty ? "" : " with \(known)")"
    case .unlisten(let target, let tag): return "unlisten \(target)\(Self.suffix(tag))"
    case .get(let target): return "get \(target)"
    case .put(let path, let node, let hash):
      return "put \(path), \(node.estimatedSize) bytes\(hash == nil ? "" : " if unchanged")"
    case .merge(let path, let changes): return "merge \(path), \(changes.count) changes"
    case .onDisconnectPut(let path, let node):
      return "onDisconnect put \(path), \(node.estimatedSize) bytes"
    case .onDisconnectMerge(let path, let changes):
      return "onDisconnect merge \(path), \(changes.count) changes"
    case .onDisconnectCancel(let path): return "onDisconnect cancel \(path)"
    case .authenticate: return "authenticate"
    case .unauthenticate: return "unauthenticate"
    case .appCheck(let token): return token == nil ? "no app check" : "app check"
    case .stats(let counters): return "stats, \(counters.count) counters"
    }
  }

  static func suffix(_ tag: Int?) -> String { tag.map { " tag \($0)" } ?? "" }
}

extension Request: CustomReflectable {
  /// Hides what a dump would show: tokens and data.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Request {
  /// Whether the request changes data at once.
  package var isWrite: Bool {
    switch self {
    case .put, .merge: true
    default: false
    }
  }
}
