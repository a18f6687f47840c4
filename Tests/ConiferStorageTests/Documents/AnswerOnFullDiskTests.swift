import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import Synchronization
import Testing

/// What a client stores of the server's answer to a write takes the write out of the queue, and so may use the reserve.
@Suite struct AnswerOnFullDiskTests {
  /// The queue cannot be drained otherwise: a stream of writes ends with a refusal, and the next one begins with a token.
  @Test
  func `A refusal is stored on a full disk, and what must be stored before the next write is sent`()
    async throws
  {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let batch = MutationBatch([Mutation(try DocumentPath("c/d"), .delete)], written: .zero) {
      Document($0, .unseen)
    }
    let id = try await backend.commit([.enqueue(lane, batch.payload)]).writes[0]
    store.isFull.withLock { $0 = true }
    let words = String(repeating: "no ", count: 1_000)
    let refusal = StorageEdit.setState(lane, id, .rejected(reason: words))
    let large = StorageEdit.setMetadata(tree, "large", [UInt8](repeating: 1, count: 2_000))
    for edits in [
      [.setState(lane, id, .sent)], [refusal, .enqueue(lane, batch.payload)], [large],
    ] {
      do throws(StoreError) {
        try await backend.commit(edits)
        Issue.record("There is no room.")
      } catch {
        #expect(error.code == .full)
      }
    }
    try await backend.commit([.setState(lane, id, .sent), refusal])
    try await backend.commit([.setMetadata(tree, "token", [1, 2])])
    let (state, token) = try backend.readDocuments { (view) throws(StoreError) in
      (try view.entry(lane, id)?.state, try view.metadata(tree, "token"))
    }
    #expect(state == .rejected(reason: words) && token == [1, 2])
    try await backend.close()
  }

  @Test func `An answer is stored on a full disk, also when its documents grow, and nothing else`()
    async throws
  {
    let store = ProbeStore()
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try DocumentPath("c/d")
    let batch = MutationBatch([Mutation(path, .delete)], written: .zero) { Document($0, .unseen) }
    let id = try await backend.commit([.enqueue(lane, batch.payload)]).writes[0]
    let text = String(repeating: "words ", count: 1_000)
    let documents = StorageEdit.documents(
      tree, [.put(Document(path, .found(["text": .string(text)])))])
    let finish = StorageEdit.finish(lane, id, .acknowledged)
    store.isFull.withLock { $0 = true }
    for edits in [[documents], [finish, documents, .enqueue(lane, batch.payload)]] {
      do throws(StoreError) {
        try await backend.commit(edits)
        Issue.record("There is no room.")
      } catch {
        #expect(error.code == .full)
      }
    }
    try await backend.commit([.setMetadata(tree, "token", [1, 2]), finish, documents])
    store.isFull.withLock { $0 = false }
    let (waiting, known) = try backend.readDocuments { (view) throws(StoreError) in
      (try view.totals(lane).pending, try view.document(tree, path))
    }
    #expect(waiting == 0 && known.fields?["text"] == .string(text))
    try await backend.close()
  }
}
