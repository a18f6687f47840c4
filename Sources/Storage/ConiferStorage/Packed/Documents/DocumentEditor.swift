import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Changes the cached documents of one tree within a commit.
struct DocumentEditor {
  let tx: LeafTransaction
  let info: TreeInfo

  init(_ tx: LeafTransaction, _ info: TreeInfo) throws(StoreError) {
    try info.requireDocuments()
    self.tx = tx
    self.info = info
  }

  /// Stores documents; of several edits of one document the last counts.
  func put(_ documents: ArraySlice<DocumentEdit>) throws(StoreError) {
    var entries: [Entry] = []
    entries.reserveCapacity(documents.count)
    for case .put(let document) in documents {
      entries.append(try DocumentRecord.entry(document))
    }
    try tx.editor(info.id).put(Self.list(entries))
  }

  /// Entries in the order of their keys, of those with one key the last.
  private static func list(_ entries: [Entry]) -> EntryList {
    var list = EntryList()
    let isAscending = zip(entries, entries.dropFirst()).allSatisfy { bytesPrecede($0.key, $1.key) }
    guard !isAscending else {
      for entry in entries { list.append(entry) }
      return list
    }
    let order = entries.indices.sorted { a, b in
      let order = compareBytes(entries[a].key, entries[b].key)
      return order == 0 ? a < b : order < 0
    }
    for (place, index) in order.enumerated() {
      let isLast =
        place + 1 == order.count || entries[order[place + 1]].key != entries[index].key
      if isLast { list.append(entries[index]) }
    }
    return list
  }

  func forget(_ path: DocumentPath) throws(StoreError) {
    try tx.editor(info.id).delete(DocumentKey.encode(path))
  }

  func setMatches(_ id: QueryID, _ paths: [DocumentPath]) throws(StoreError) {
    try QueryEditor(tx, info).setMatches(id, paths)
  }

  func checkVersion(_ id: QueryID, _ version: MatchesVersion?) throws(StoreError) {
    try QueryEditor(tx, info).check(id, version)
  }

  func updateMatches(
    _ id: QueryID, _ added: [DocumentPath], _ removed: [DocumentPath]
  ) throws(StoreError) {
    try QueryEditor(tx, info).updateMatches(id, added: added, removed: removed)
  }
}
