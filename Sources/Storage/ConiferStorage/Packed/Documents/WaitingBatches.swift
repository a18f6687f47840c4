import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// The waiting batches of a lane, while a commit changes its overlays.
///
/// Batches of several documents are kept once they were read, so that one is not read again for each of its documents.
final class WaitingBatches {
  private let reader: QueueReader
  private var parts: [WriteID: [DocumentPath: MutationBatch]] = [:]
  /// The bytes that the kept batches take in the store.
  private var bytes = 0
  /// More than this is not kept. It is several times the largest request.
  private static let mostBytes = 32 << 20

  init(_ reader: QueueReader) { self.reader = reader }

  /// What a waiting write does to one document; nil when it does nothing to it, ended, or a later version queued it.
  func part(_ id: WriteID, of path: DocumentPath) throws(StoreError) -> MutationBatch? {
    if let parts = parts[id] { return parts[path] }
    guard let found = try reader.find(id), found.section == .unanswered,
      let batch = MutationBatch(found.entry.payload)
    else { return nil }
    let parts = batch.parts
    guard parts.count > 1 else { return parts[path] }
    if bytes + found.size > Self.mostBytes {
      self.parts = [:]
      bytes = 0
    }
    self.parts[id] = parts
    bytes += found.size
    return parts[path]
  }
}
