import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

extension Verifier {
  /// Checks that each collection with stored documents has a row, and that there are no other rows.
  func checkCollections() throws(StoreError) {
    var listed: [TreeID: Set<CollectionPath>] = [:]
    try scan(Spaces.collections) { (key, value) throws(StoreError) in
      let tree = StoreKey.tree(key)
      guard trees[tree]?.order == .documents else { throw Damage.error(Spaces.collections, key) }
      listed[tree, default: []]
        .insert(try CollectionRows(view: snapshot, tree: tree).collection(key, value))
      count { $0.collections += 1 }
    }
    for info in trees.values where info.order == .documents && !damaged.contains(info.id) {
      try compare(info, listed[info.id] ?? [])
    }
  }

  private func compare(
    _ info: TreeInfo, _ listed: Set<CollectionPath>
  ) throws(StoreError) {
    let rows = CollectionRows(view: snapshot, tree: info.id)
    let reader = DocumentReader(runs: RunReader(view: snapshot, tree: info.id))
    var rest = listed
    let isRead: Void? = try reading(Spaces.runs, StoreKey.prefix(info.id)) {
      () throws(StoreError) in
      try reader.forEachCollection { collection in
        guard rest.remove(collection) == nil else { return }
        found(
          .missing, Spaces.collections, rows.key(collection),
          "\(collection) has documents, and queries of its group do not find it")
      }
    }
    guard isRead != nil else { return }
    for collection in rest.sorted() {
      found(
        .orphan, Spaces.collections, rows.key(collection), "nothing of \(collection) is stored")
    }
  }
}
