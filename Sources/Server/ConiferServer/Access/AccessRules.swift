public import ConiferQuery
public import ConiferTree

/// The rules that decide who may read and write what.
///
/// The server asks for each listen, get and write, and again for the listens of a session when its
/// token changed. It does not ask for administrators.
///
/// The server calls `decideRead` and `decideWrite`, which by default use the other two.
public protocol AccessRules: Sendable {
  /// Whether a target may be read.
  func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool
  /// Whether a node may be replaced; called for each node of a write that replaces several.
  ///
  /// - Parameters:
  ///   - path: the replaced node; a last segment `.priority` stands for a priority alone.
  ///   - after: the whole data as the write would leave it, server values resolved.
  ///   - context: who writes, and the data before.
  func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool
  /// Whether a target may be read, and why not.
  func decideRead(_ target: QueryTarget, _ context: AccessContext) -> AccessDecision
  /// Whether nodes may be replaced by one write, and why not; as `allowsWrite` of each.
  func decideWrite(_ paths: [Path], after: Node, _ context: AccessContext) -> AccessDecision
  /// Whether they declare an index that sorts the children of a path; nil for rules that declare no
  /// indexes. Rules that ask others pass their answer on.
  func declaresIndex(_ index: QueryIndex, at path: Path) -> Bool?
}

extension AccessRules {
  /// Nil: rules declare no indexes unless they say so.
  public func declaresIndex(_ index: QueryIndex, at path: Path) -> Bool? { nil }

  /// What `allowsRead` says.
  public func decideRead(_ target: QueryTarget, _ context: AccessContext) -> AccessDecision {
    AccessDecision(allowsRead(target, context))
  }

  /// What `allowsWrite` says.
  public func decideWrite(
    _ paths: [Path], after: Node, _ context: AccessContext
  ) -> AccessDecision {
    AccessDecision(paths.allSatisfy { allowsWrite($0, after: after, context) })
  }

  /// Whether one node may be replaced, and why not.
  public func decideWrite(
    _ path: Path, after: Node, _ context: AccessContext
  ) -> AccessDecision {
    decideWrite([path], after: after, context)
  }
}

/// The token, the data and the time for which rules decide on a request.
public struct AccessContext: Sendable {
  /// What the client's token says; nil for a client without one.
  public var auth: VerifiedToken?
  /// The whole data of the database, as it is.
  public var root: Node
  /// The server's time in milliseconds since 1970.
  public var now: Int64

  /// Who asks, when, and over which data.
  public init(auth: VerifiedToken?, root: Node, now: Int64) {
    self.auth = auth
    self.root = root
    self.now = now
  }
}

/// Access rules that allow everybody everything.
public struct OpenRules: AccessRules {
  /// Rules that allow everything.
  public init() {}

  /// True.
  public func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool { true }

  /// True.
  public func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool { true }
}

/// Access rules given as two closures, one for reads and one for writes.
public struct ClosureRules: AccessRules {
  private let read: @Sendable (QueryTarget, AccessContext) -> Bool
  private let write: @Sendable (Path, Node, AccessContext) -> Bool

  /// Rules as two closures, which return quickly.
  ///
  /// - Parameters:
  ///   - read: whether a target may be read.
  ///   - write: whether a node may be replaced, given the data as the write would leave it.
  public init(
    read: @escaping @Sendable (QueryTarget, AccessContext) -> Bool = { _, _ in true },
    write: @escaping @Sendable (Path, Node, AccessContext) -> Bool = { _, _, _ in true }
  ) {
    self.read = read
    self.write = write
  }

  /// What the closure says.
  public func allowsRead(_ target: QueryTarget, _ context: AccessContext) -> Bool {
    read(target, context)
  }

  /// What the closure says.
  public func allowsWrite(_ path: Path, after: Node, _ context: AccessContext) -> Bool {
    write(path, after, context)
  }
}
