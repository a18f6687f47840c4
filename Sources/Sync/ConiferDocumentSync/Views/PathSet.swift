package import ConiferDocument

/// Paths of documents.
///
/// A copy shares what it has with the original, so snapshots keep whole sets, and a change of a
/// large set costs little.
package struct PathSet: Sendable {
  private var paths: SortedList<DocumentPath>

  /// No paths yet.
  package init() { paths = SortedList(DocumentPath.compare) }

  /// The given paths, in any order.
  package init(_ paths: some Sequence<DocumentPath>) {
    let sorted = Set(paths).sorted()
    self.paths = SortedList(sorted: sorted[...], DocumentPath.compare)
  }

  /// Whether there are none.
  package var isEmpty: Bool { paths.count == 0 }

  /// Whether a path is among them.
  package func contains(_ path: DocumentPath) -> Bool { paths.find(path) != nil }

  /// Takes a path in, if it is not there yet.
  mutating func insert(_ path: DocumentPath) { if !contains(path) { paths.insert(path) } }

  /// Removes a path, if it is there.
  mutating func remove(_ path: DocumentPath) { paths.remove(path) }
}

extension PathSet: Sequence {
  /// The paths in their order.
  package func makeIterator() -> some IteratorProtocol<DocumentPath> { paths.makeIterator() }
}

extension PathSet: Equatable {
  /// Whether both have the same paths.
  package static func == (a: PathSet, b: PathSet) -> Bool { a.elementsEqual(b) }
}
