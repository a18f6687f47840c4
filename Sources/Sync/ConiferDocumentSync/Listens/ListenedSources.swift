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

  /// Gives the views whose queries look where documents are, with documents that follow one another.
  func forEach(
    affectedBy changed: [Document], _ body: (ViewNumber, ArraySlice<Document>) -> Void
  ) {
    var start = 0
    while start < changed.count {
      // Documents that follow one another are mostly of one collection, which is looked up once.
      let collection = changed[start].path.collection
      var end = start + 1
      while end < changed.count, collection.contains(changed[end].path) { end += 1 }
      let part = changed[start..<end]
      for number in collections[collection] ?? [] { body(number, part) }
      if !groups.isEmpty {
        for number in groups[.group(collection.id)] ?? [] { body(number, part) }
      }
      if !documents.isEmpty {
        for index in part.indices {
          for number in documents[changed[index].path] ?? [] { body(number, part[index...index]) }
        }
      }
      start = end
    }
  }
}
