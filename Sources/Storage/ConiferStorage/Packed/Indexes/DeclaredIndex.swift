import ConiferDocument
import ConiferKeyValue

/// An index as it was declared: over the children of nodes, or over documents. All those of a tree are
/// of one kind.
enum DeclaredIndex: Hashable, Sendable, CustomStringConvertible {
  case children(IndexDefinition)
  case documents(DocumentIndex)

  /// The children of nodes that are indexed; nil for documents.
  var children: IndexDefinition? {
    guard case .children(let definition) = self else { return nil }
    return definition
  }

  /// The documents that are indexed; nil for children of nodes.
  var documents: DocumentIndex? {
    guard case .documents(let index) = self else { return nil }
    return index
  }

  /// The most indexes of its kind that one tree has.
  var mostInTree: Int {
    switch self {
    case .children: IndexDefinition.mostInTree
    case .documents: DocumentIndex.mostInTree
    }
  }

  /// A word for what has an entry in the index.
  var unit: String {
    switch self {
    case .children: "child"
    case .documents: "document"
    }
  }

  /// A phrase that says how many entries the data asks for.
  func wants(_ entries: Int) -> String {
    switch self {
    case .children: "there are \(entries) children"
    case .documents: "the documents ask for \(entries)"
    }
  }

  /// Whether trees of an order have such indexes.
  func fits(_ order: KeyOrder) -> Bool {
    switch self {
    case .children: order == .realtimeDatabase
    case .documents: order == .documents
    }
  }

  var description: String {
    switch self {
    case .children(let definition): "\(definition)"
    case .documents(let index): "\(index)"
    }
  }
}
