import ConiferStorage

/// What a command needs a tree to hold.
enum TreeContent {
  /// Nodes, as the Realtime Database has them.
  case nodes
  /// Documents.
  case documents
  /// Either of them.
  case any

  /// The key order of a tree that is made for it.
  var order: KeyOrder { self == .documents ? .documents : .realtimeDatabase }

  /// Refuses a tree that holds something else.
  func require(_ info: TreeInfo) throws(Failure) {
    switch self {
    case .documents where info.order != .documents:
      throw Failure(
        "invalid", .usage,
        "The tree \"\(info.name)\" holds nodes, not documents: name another one with --tree, such as --tree "
          + "'projects/P/databases/(default)', which conifer doc set or import makes.")
    case .nodes where info.order == .documents:
      throw Failure(
        "invalid", .usage,
        "The tree \"\(info.name)\" holds documents, not nodes: use the commands of conifer doc, or name "
          + "another tree with --tree.")
    case .nodes, .documents, .any: break
    }
  }
}
