import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Counts the records whose encryption key is missing, by scope and reason.
struct LockedScopes {
  private struct Name: Hashable {
    let scope: StoreScope
    let why: MissingKey
  }

  private var counts: [Name: (records: Int, bytes: Int)] = [:]

  /// The scopes with such records.
  var scopes: Set<StoreScope> { Set(counts.keys.map(\.scope)) }

  /// Visits all such records of a view.
  static func walk(
    _ view: any OrderedView,
    _ visit: (_ space: Space, _ key: Bytes, _ size: Int, _ why: MissingKey) -> Void
  ) throws(StoreError) {
    for space in Spaces.all {
      try view.walkLocked(space, .atOrAfter([])) { key, size, why in
        visit(space, Bytes(key), size, why)
        return .next
      }
    }
  }

  /// Counts a record and gives its scope.
  @discardableResult
  mutating func add(
    _ space: Space, _ key: Bytes, _ size: Int, _ why: MissingKey
  ) -> StoreScope {
    let scope = Scopes.layout.scope(space, key.span.bytes)
    counts[Name(scope: scope, why: why), default: (0, 0)].records += 1
    counts[Name(scope: scope, why: why), default: (0, 0)].bytes.add(1 + key.count + size)
    return scope
  }

  /// What was counted, the store's own first, then by tree and lane.
  ///
  /// - Parameter trees: those whose names are known.
  func records(_ trees: [TreeID: TreeInfo]) -> [LockedRecords] {
    counts.sorted {
      let (a, b) = ($0.key, $1.key)
      if a.scope != b.scope { return bytesPrecede(a.scope.prefix, b.scope.prefix) }
      return a.why.rawValue < b.why.rawValue
    }.map { name, count in
      let tree = name.scope.tree
      return LockedRecords(
        tree: tree, name: tree.flatMap { trees[$0]?.name }, identity: name.scope.lane?.identity,
        why: name.why, records: count.records, bytes: count.bytes)
    }
  }
}
