public import ConiferQuery
public import ConiferTree

/// A message that a server sends without a request.
public enum Push: Hashable, Sendable {
  /// A node was replaced (`d`); with a tag it is the result of that listen, or a part of it.
  case overwrite(Path, Node, tag: Int?)
  /// Nodes below a path were replaced (`m`).
  case merge(Path, [NodeChange], tag: Int?)
  /// Ranges of a node were replaced (`rm`), in answer to a listen with a compound hash.
  case rangeMerge(Path, [RangeMerge], tag: Int?)
  /// A listen ended, since the rules no longer allow it (`c`), with its query.
  case listenRevoked(Path, QuerySpec)
  /// The token is no longer taken (`ac`).
  case authRevoked(Response.Status, reason: String)
  /// The app's token is no longer taken (`apc`).
  case appCheckRevoked(Response.Status, reason: String)
  /// Words for a developer (`sd`).
  case debug(String)
}
