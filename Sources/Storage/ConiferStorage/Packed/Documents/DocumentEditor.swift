import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Changes what is cached of one tree of documents within a commit.
struct DocumentEditor {
  let tx: LeafTransaction
  let info: TreeInfo

  init(_ tx: LeafTransaction, _ info: TreeInfo) throws(StoreError) {
    try info.requireDocuments()
    self.tx = tx
    self.info = info
  }

  func put(_ document: Document) throws(StoreError) {
    try tx.editor(info.id).put(try DocumentRecord.entry(document))
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
