import ConiferKeyValue
import ConiferLeafStore

/// Reads the states of a tree's indexes.
enum IndexReader {
  /// The states of the indexes of children.
  static func status(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> [IndexStatus] {
    try all(view, tree).compactMap { found in
      found.definition.children.map {
        IndexStatus(
          definition: $0, state: found.state, entries: found.entries, bytes: found.bytes)
      }
    }
  }

  /// The states of the indexes of documents.
  static func documents(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> [DocumentIndexStatus] {
    try all(view, tree).compactMap { found in
      found.definition.documents.map {
        DocumentIndexStatus(
          index: $0, state: found.state, entries: found.entries, bytes: found.bytes)
      }
    }
  }

  private typealias Found = (
    definition: DeclaredIndex, state: IndexStatus.State, entries: Int, bytes: Int
  )

  private static func all(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> [Found] {
    var list: [Found] = []
    for index in try IndexSet.read(view, tree).indexes {
      let prefix = IndexSet.prefix(tree, index.number)
      var (rows, bytes) = (0, 0)
      try view.walkKeys(Spaces.indexes, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix) else { return .stop }
        rows += 1
        bytes += 1 + key.byteCount + size
        return .next
      }
      list.append((index.definition, try state(view, tree, index), rows, bytes))
    }
    return list
  }

  /// The progress of a build, by the runs that it has passed.
  private static func state(
    _ view: any OrderedView, _ tree: TreeID, _ index: StoredIndex
  ) throws(StoreError) -> IndexStatus.State {
    guard let position = index.position else { return .ready }
    let place = StoreKey.prefix(tree) + position
    let prefix = StoreKey.prefix(tree)
    var (runs, passed) = (0, 0)
    try view.walkKeys(Spaces.runs, .atOrAfter(prefix)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      runs += 1
      if key.compare(place) < 0 { passed += 1 }
      return .next
    }
    return .building(runs == 0 ? 0 : Double(max(0, passed - 1)) / Double(runs))
  }
}
