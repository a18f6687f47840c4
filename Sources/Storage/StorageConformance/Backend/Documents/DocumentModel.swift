internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

/// What a tree of documents must hold, in plain collections: each write is applied anew at each question.
struct DocumentModel {
  /// A write of a lane that has not ended.
  struct Write {
    var batch: MutationBatch
    var isRejected = false
  }

  /// What the server said, by document.
  var bases: [DocumentPath: Document] = [:]
  /// By identity, the writes by number.
  var lanes: [String: [WriteID: Write]] = [:]
  /// By query, the documents that match.
  var matches: [QueryID: Set<DocumentPath>] = [:]

  /// The writes of a lane that wait, in their order.
  func waiting(_ identity: String) -> [MutationBatch] {
    (lanes[identity] ?? [:]).filter { !$0.value.isRejected }.sorted { $0.key < $1.key }
      .map(\.value.batch)
  }

  /// A document with the waiting writes of a lane.
  func shown(_ identity: String, _ path: DocumentPath) -> Document {
    waiting(identity).reduce(bases[path] ?? Document(path, .unseen)) { $1.applied(to: $0) }
  }

  /// All documents of which something is known, with the waiting writes of a lane.
  func shown(_ identity: String) -> [Document] {
    let written = waiting(identity).flatMap { $0.mutations.map(\.path) }
    return Set(bases.keys).union(written).sorted().map { shown(identity, $0) }
  }
}
