import ConiferDocument
import ConiferWire

/// The views by where their queries look for documents, and in the order in which they came.
struct ListenedSources: Sendable {
  private var collections: [CollectionPath: [ViewNumber]] = [:]
  /// By the source, which compares ids by their bytes.
  private var groups: [DocumentQuery.Source: [ViewNumber]] = [:]
  private var documents: [DocumentPath: [ViewNumber]] = [:]
  private var numbers = SortedList<ViewNumber> { Int($0) - Int($1) }

  /// The views in their order.
  var inOrder: [ViewNumber] { Array(numbers) }

  /// Where their queries look for documents.
  var all: Set<DocumentQuery.Source> {
    Set(
      collections.keys.map { .collection($0) } + groups.keys + documents.keys.map { .document($0) })
  }

  mutating func add(_ source: DocumentQuery.Source, _ number: ViewNumber) {
    change(source) { $0.append(number) }
    numbers.insert(number)
  }

  mutating func remove(_ source: DocumentQuery.Source, _ number: ViewNumber) {
    change(source) { $0.removeAll { $0 == number } }
    numbers.remove(number)
  }

  private mutating func change(
    _ source: DocumentQuery.Source, _ body: (inout [ViewNumber]) -> Void
  ) {
    func changed<Key>(_ views: inout [Key: [ViewNumber]], _ key: Key) {
      body(&views[key, default: []])
      if views[key]?.isEmpty == true { views[key] = nil }
    }
    switch source {
    case .collection(let path): changed(&collections, path)
    case .group: changed(&groups, source)
    case .document(let path): changed(&documents, path)
    }
  }

  /// The oldest view that looks there.
  func first(in source: DocumentQuery.Source) -> ViewNumber? {
    switch source {
    case .collection(let path): collections[path]?.first
    case .group: groups[source]?.first
    case .document(let path): documents[path]?.first
    }
  }

  /// Gives the views whose queries look where documents are, each with the document.
  func forEach(
    affectedBy changed: [Document], _ body: (ViewNumber, Document) -> Void
  ) {
    // Documents that follow one another are mostly of one collection, which is looked up once.
    var last: CollectionPath?
    var around: [ViewNumber] = []
    for document in changed {
      if last?.contains(document.path) != true {
        let collection = document.path.collection
        last = collection
        around = collections[collection] ?? []
        if !groups.isEmpty { around += groups[.group(collection.id)] ?? [] }
      }
      for number in around { body(number, document) }
      if !documents.isEmpty {
        for number in documents[document.path] ?? [] { body(number, document) }
      }
    }
  }
}
