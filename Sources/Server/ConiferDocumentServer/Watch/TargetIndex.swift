import ConiferDocument

/// Finds the listeners that a document's path concerns, at a cost that does not depend on the
/// number of others.
struct TargetIndex<Value: Hashable & Sendable>: Sendable {
  private var values: [DocumentQuery.Source: [Value: Int]] = [:]

  /// Adds a listener of a source; a listener may be added several times.
  mutating func insert(_ value: Value, _ source: DocumentQuery.Source) {
    values[source, default: [:]][value, default: 0] += 1
  }

  /// Removes one addition of a listener of a source.
  mutating func remove(_ value: Value, _ source: DocumentQuery.Source) {
    guard let count = values[source]?[value] else { return }
    values[source]?[value] = count > 1 ? count - 1 : nil
    if values[source]?.isEmpty == true { values[source] = nil }
  }

  /// Visits the listeners that a document may concern, once for each of their sources.
  func forEach(affectedBy path: DocumentPath, _ visit: (Value) -> Void) {
    let collection = path.collection
    for source: DocumentQuery.Source in [
      .document(path), .collection(collection), .group(collection.id),
    ] {
      values[source]?.keys.forEach(visit)
    }
  }
}
