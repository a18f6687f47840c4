import ConiferDocument

/// Finds who may care for a document by where it is, at a cost of those alone.
struct TargetIndex<Value: Hashable & Sendable>: Sendable {
  private var values: [DocumentQuery.Source: [Value: Int]] = [:]

  /// Notes that a value cares for the documents of a source; as often as it does.
  mutating func insert(_ value: Value, _ source: DocumentQuery.Source) {
    values[source, default: [:]][value, default: 0] += 1
  }

  /// Notes that a value cares for a source once less.
  mutating func remove(_ value: Value, _ source: DocumentQuery.Source) {
    guard let count = values[source]?[value] else { return }
    values[source]?[value] = count > 1 ? count - 1 : nil
    if values[source]?.isEmpty == true { values[source] = nil }
  }

  /// Visits the values that a document may concern; one that cares for several of its sources comes as often.
  func forEach(affectedBy path: DocumentPath, _ visit: (Value) -> Void) {
    let collection = path.collection
    for source: DocumentQuery.Source in [
      .document(path), .collection(collection), .group(collection.id),
    ] {
      values[source]?.keys.forEach(visit)
    }
  }
}
