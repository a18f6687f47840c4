package import ConiferDocument

/// What happened to one document of a view.
package struct DocumentChange: Sendable, Hashable {
  /// What happened.
  package enum Kind: Sendable, Hashable {
    /// It left the view.
    case removed
    /// It came into the view.
    case added
    /// Its fields are others.
    case modified
    /// Its fields are the same, but whether it has pending writes changed.
    case metadata
  }

  /// What happened.
  package let kind: Kind
  /// The document as it is now; a removed one as it was.
  package let document: Document

  /// A change.
  package init(_ kind: Kind, _ document: Document) {
    self.kind = kind
    self.document = document
  }
}

/// The changes of a view between two snapshots, one a document.
struct ChangeSet: Sendable {
  /// The first documents of a view, in its query's order; nothing else changed then.
  private var first: ArraySlice<Document> = []
  private var byPath: [DocumentPath: DocumentChange] = [:]

  /// No changes yet.
  init() {}

  /// All documents of a view that had none, in its query's order and each once.
  init(first: ArraySlice<Document>) { self.first = first }

  var isEmpty: Bool { first.isEmpty && byPath.isEmpty }
  /// How many documents changed.
  var count: Int { first.count + byPath.count }

  /// Gives the documents that changed.
  func forEachPath(_ body: (DocumentPath) -> Void) {
    for document in first { body(document.path) }
    for path in byPath.keys { body(path) }
  }

  /// Whether these are all documents of a view that had none, and have exactly some paths, in their order.
  func isFirst(with paths: [DocumentPath]) -> Bool {
    first.count == paths.count && !first.isEmpty && zip(first, paths).allSatisfy { $0.path == $1 }
  }

  /// Takes a change in, joined with an earlier one of the same document.
  mutating func track(_ change: DocumentChange) {
    if !first.isEmpty {
      for document in first { byPath[document.path] = DocumentChange(.added, document) }
      first = []
    }
    let path = change.document.path
    guard let earlier = byPath[path] else {
      byPath[path] = change
      return
    }
    byPath[path] =
      switch (earlier.kind, change.kind) {
      case (.added, .removed): nil
      case (.added, _), (.modified, .metadata): DocumentChange(earlier.kind, change.document)
      case (.modified, .removed): DocumentChange(.removed, earlier.document)
      case (.removed, .added): DocumentChange(.modified, change.document)
      case (.removed, _), (.modified, _), (.metadata, _): change
      }
  }

  /// The removed, the added and the modified documents, each in the query's order.
  func sorted(by order: SortedList<Document>.Order) -> [DocumentChange] {
    if byPath.isEmpty { return first.map { DocumentChange(.added, $0) } }
    return byPath.values.sorted { a, b in
      a.kind.rank == b.kind.rank
        ? order(a.document, b.document) < 0 : a.kind.rank < b.kind.rank
    }
  }
}

extension DocumentChange.Kind {
  /// To apps, metadata is modified.
  fileprivate var rank: Int {
    switch self {
    case .removed: 0
    case .added: 1
    case .modified, .metadata: 2
    }
  }
}
