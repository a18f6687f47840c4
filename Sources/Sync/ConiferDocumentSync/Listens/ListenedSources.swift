import ConiferDocument
import ConiferWire

/// The queries that are listened to, by where they look for documents and in the order in which they came.
struct ListenedSources: Sendable {
  struct Entry: Sendable {
    let query: DocumentQuery
    /// Greater ones came later.
    let number: TargetID
  }

  private var bySource: [DocumentQuery.Source: [Entry]] = [:]
  private var entries = SortedList<Entry> { Int($0.number) - Int($1.number) }

  /// The queries in their order.
  var inOrder: [DocumentQuery] { entries.map(\.query) }
  /// Where they look for documents.
  var all: Set<DocumentQuery.Source> { Set(bySource.keys) }

  mutating func add(_ query: DocumentQuery, _ number: TargetID) {
    let entry = Entry(query: query, number: number)
    bySource[query.source, default: []].append(entry)
    entries.insert(entry)
  }

  mutating func remove(_ query: DocumentQuery, _ number: TargetID) {
    bySource[query.source]?.removeAll { $0.number == number }
    if bySource[query.source]?.isEmpty == true { bySource[query.source] = nil }
    entries.remove(Entry(query: query, number: number))
  }

  /// Gives the queries that look where a document is.
  func forEach(concernedBy path: DocumentPath, _ body: (Entry) -> Void) {
    let collection = path.collection
    for source in [
      DocumentQuery.Source.collection(collection), .group(collection.id), .document(path),
    ] {
      bySource[source]?.forEach(body)
    }
  }
}
