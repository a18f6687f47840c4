package import ConiferTree

/// Data that the server sends unasked, for a listen.
///
/// The tag is that of the filtered listen which it is for; without one it is for all views that hold the path.
package enum DataUpdate: Hashable, Sendable {
  /// A node was replaced.
  case overwrite(Path, Node, tag: Int?)
  /// Nodes below a path were replaced; their paths are relative to it.
  case merge(Path, [NodeChange], tag: Int?)
  /// Ranges of a node were replaced, in answer to a listen with a compound hash.
  case rangeMerge(Path, [RangeMerge], tag: Int?)
}
