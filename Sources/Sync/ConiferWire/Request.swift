public import ConiferQuery
public import ConiferTree

/// A request of a client to a server; each has one response.
public enum Request: Hashable, Sendable {
  /// Asks for the data at a target, then its changes, until `unlisten` (`q`).
  ///
  /// - tag: names the pushes of a filtered query; nil for the default query.
  /// - hash: that of the data the client has; empty when it has none. Equal data is not sent again.
  /// - compound: hashes of ranges of that data, so that only changed ranges are sent.
  case listen(QueryTarget, tag: Int?, hash: String, compound: CompoundHash?)
  /// Ends a listen (`n`).
  case unlisten(QueryTarget, tag: Int?)
  /// Reads the data of a target once (`g`).
  case get(QueryTarget)
  /// Replaces a node (`p`); with a hash only if the node there has it, else `datastale`.
  case put(Path, Node, hash: String?)
  /// Replaces several nodes below a path, all or none (`m`).
  case merge(Path, [NodeChange])
  /// Replaces a node when the connection ends (`o`).
  case onDisconnectPut(Path, Node)
  /// Replaces several nodes when the connection ends (`om`).
  case onDisconnectMerge(Path, [NodeChange])
  /// Cancels what was to happen at and below a path when the connection ends (`oc`).
  case onDisconnectCancel(Path)
  /// Says who the client is, by a token (`auth`, or `gauth` for a token that is not a JWT).
  case authenticate(Credential)
  /// Makes the client nobody again (`unauth`).
  case unauthenticate
  /// Sets the client's app token (`appcheck`); nil removes it.
  case appCheck(String?)
  /// Tells counters for the server's statistics (`s`).
  case stats([String: Int])
}
