import ConiferDocument
import ConiferKeyValue
import ConiferWire
import Synchronization

extension DatabaseHost {
  /// Documents that are deleted at a time.
  private static let slice = 500

  /// Removes all documents.
  ///
  /// - Returns: why it did not; some may be gone then.
  func clear() async -> StatusError? {
    do throws(StatusError) {
      let store = try await store()
      // With listeners, documents are deleted one by one, so that each deletion is sent. Otherwise
      // the trees are removed at once.
      if listening.isEmpty, writing.isEmpty { try await wipe(store) } else { try await deleteAll() }
      return nil
    } catch { return error }
  }

  private func wipe(_ store: DatabaseStore) async throws(StatusError) {
    defer { invalidateContents() }
    let time = (contents?.head.time ?? .zero).next(after: configuration.clock())
    do throws(StoreError) { try await store.wipe(at: time) } catch {
      throw StatusError(failing: error)
    }
    // What comes next is later than what was.
    contents?.head.time = time
  }

  private func deleteAll() async throws(StatusError) {
    while true {
      let store = try await store()
      let paths: [DocumentPath]
      do throws(StoreError) {
        paths = try store.read { (view) throws(StoreError) in try view.first(Self.slice) }
      } catch { throw StatusError(failing: error) }
      if paths.isEmpty { return }
      let refusal = Mutex<StatusError?>(nil)
      await make([
        PendingCommit(
          writes: paths.map { Mutation($0, .delete) },
          committer: .caller(.server, nil) { result in
            if case .failure(let error) = result { refusal.withLock { $0 = error } }
          })
      ])
      if let error = refusal.withLock({ $0 }) { throw error }
      await sendDueMoments()
    }
  }
}
