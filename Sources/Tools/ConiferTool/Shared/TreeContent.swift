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

  /// A tree with it, for people.
  var words: String {
    switch self {
    case .nodes: "tree of nodes"
    case .documents: "tree of documents"
    case .any: "tree"
    }
  }

  /// Whether a tree holds it.
  func fits(_ info: TreeInfo) -> Bool {
    self == .any || (self == .documents) == (info.order == .documents)
  }

  /// Refuses a tree that holds something else.
  func require(_ info: TreeInfo) throws(Failure) {
    guard !fits(info) else { return }
    switch self {
    case .documents:
      throw Failure(
        "invalid", .usage,
        "The tree \"\(info.name)\" holds nodes, not documents: name another one with --tree, such as --tree "
          + "'projects/P/databases/(default)', which conifer doc set or import makes.")
    case .nodes:
      throw Failure(
        "invalid", .usage,
        "The tree \"\(info.name)\" holds documents, not nodes: use the commands of conifer doc, or name "
          + "another tree with --tree.")
    case .any: break
    }
  }
}
