package import ConiferDocument

/// The documents that a server says match a target.
///
/// As long as they are what was given in order, no path is hashed.
package struct MatchedPaths: Sendable {
  private enum Paths: Sendable {
    /// Each once, in their order.
    case inOrder([DocumentPath])
    case hashed(Set<DocumentPath>)
  }

  private var paths: Paths

  /// The given documents; those that are given in order and each once are not hashed.
  package init(_ paths: [DocumentPath]) {
    let isAscending = zip(paths, paths.dropFirst()).allSatisfy { $0 < $1 }
    self.paths = isAscending ? .inOrder(paths) : .hashed(Set(paths))
  }

  /// The given documents.
  package init(_ paths: Set<DocumentPath>) { self.paths = .hashed(paths) }

  package var isEmpty: Bool { count == 0 }

  package var count: Int {
    switch paths {
    case .inOrder(let paths): paths.count
    case .hashed(let paths): paths.count
    }
  }

  package func contains(_ path: DocumentPath) -> Bool {
    switch paths {
    case .hashed(let paths): return paths.contains(path)
    case .inOrder(let paths):
      var (low, high) = (0, paths.count)
      while low < high {
        let middle = (low + high) / 2
        let order = DocumentPath.compare(paths[middle], path)
        if order == 0 { return true }
        if order < 0 { low = middle + 1 } else { high = middle }
      }
      return false
    }
  }

  /// The documents as they were given in order; nil when they are hashed.
  var inOrder: [DocumentPath]? { if case .inOrder(let paths) = paths { paths } else { nil } }

  /// The documents, hashed: many are looked for.
  package var hashed: Set<DocumentPath> {
    switch paths {
    case .inOrder(let paths): Set(paths)
    case .hashed(let paths): paths
    }
  }

  /// The documents in their order.
  func sorted() -> [DocumentPath] {
    switch paths {
    case .inOrder(let paths): paths
    case .hashed(let paths): paths.sorted()
    }
  }

  /// Hashes them, as many are looked for.
  mutating func hash() { if case .inOrder(let paths) = paths { self.paths = .hashed(Set(paths)) } }

  /// Takes documents in, and then others out.
  ///
  /// - Parameter added: in order if there were none.
  mutating func change(adding added: [DocumentPath], removing removed: [DocumentPath]) {
    if isEmpty {
      self = MatchedPaths(added)
    } else if !added.isEmpty {
      edit { $0.formUnion(added) }
    }
    if !removed.isEmpty { edit { $0.subtract(removed) } }
  }

  private mutating func edit(_ body: (inout Set<DocumentPath>) -> Void) {
    var all = hashed
    // Given up meanwhile, so that it is changed without being copied.
    paths = .inOrder([])
    body(&all)
    paths = .hashed(all)
  }
}

extension MatchedPaths: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: DocumentPath...) { self.init(elements) }
}

extension MatchedPaths: Equatable {
  /// Whether both are the same documents.
  package static func == (a: MatchedPaths, b: MatchedPaths) -> Bool {
    if let a = a.inOrder, let b = b.inOrder { return a == b }
    return a.hashed == b.hashed
  }
}
