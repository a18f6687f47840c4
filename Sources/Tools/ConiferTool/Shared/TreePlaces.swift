import ConiferDocument
import ConiferStorage
import ConiferTree

/// Places of a tree as people write them: paths of nodes, or of collections and documents.
struct TreePlaces {
  let order: KeyOrder

  /// What the tree's leaves are.
  var leaves: String { order == .documents ? "documents" : "leaves" }

  /// The place of a text: a path as an app may name it, or that of a collection or a document; `/` for all.
  func path(_ text: String) throws -> Path {
    guard order == .documents else { return try Input.path(text) }
    guard !text.isEmpty, !text.utf8.elementsEqual("/".utf8) else { return .root }
    if let document = try? DocumentPath(text) { return DocumentKey.treePath(document) }
    return DocumentKey.treePath(try CollectionPath(text))
  }

  /// The text of a place.
  func words(_ path: Path) -> String {
    guard order == .documents, let collection = path.keys.first else { return path.description }
    return DocumentKey.document(path)?.description ?? collection.string
  }

  /// What a query asks for: its canonical parameters, or those of a query of documents and whose it is.
  func words(parameters: String) -> String {
    guard order == .documents, let end = parameters.utf8.firstIndex(of: 0) else {
      return parameters
    }
    let identity = String(parameters[..<end])
    let target = String(parameters.utf8[parameters.utf8.index(after: end)...]) ?? ""
    return identity.isEmpty ? target : "\(target) of \(identity)"
  }
}
