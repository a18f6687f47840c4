public import ConiferTree

/// A query together with its path, as it is listened to, tracked and pinned.
public struct QueryTarget: Hashable, Sendable {
  /// The node whose children the query is about.
  public let path: Path
  /// The query specification.
  public let spec: QuerySpec

  /// A query at a place.
  ///
  /// - Parameters:
  ///   - path: the node whose children the query is about.
  ///   - spec: the query; by default the whole node.
  public init(_ path: Path, _ spec: QuerySpec = .default) {
    self.path = path
    self.spec = spec
  }

  /// The target that is listened to, tracked and stored for this one: the default query when all
  /// data is loaded anyway.
  public var normalized: QueryTarget { QueryTarget(path, spec.normalized) }
}

extension QueryTarget: CustomStringConvertible {
  /// The path and the query's identifier.
  public var description: String { spec.isDefault ? "\(path)" : "\(path)?\(spec.identifier)" }
}
