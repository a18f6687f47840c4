import ConiferDocument
import ConiferWire

/// What a stream is told of documents at one moment: each once, with all targets that it concerns.
struct MomentChanges {
  private struct Entry {
    /// The document as it is; nil when it was not changed.
    var document: Document?
    var matching: [TargetID] = []
    var leaving: [TargetID] = []
  }

  private var entries: [DocumentPath: Entry] = [:]
  private var order: [DocumentPath] = []

  /// A document, new or changed, is in a target.
  mutating func match(_ document: Document, _ id: TargetID) {
    note(document.path, document) { $0.matching.append(id) }
  }

  /// A document leaves a target.
  ///
  /// - Parameter document: the document as it is; nil when it was not changed.
  mutating func leave(_ path: DocumentPath, _ document: Document?, _ id: TargetID) {
    note(path, document) { $0.leaving.append(id) }
  }

  private mutating func note(
    _ path: DocumentPath, _ document: Document?, _ change: (inout Entry) -> Void
  ) {
    if entries[path] == nil { order.append(path) }
    change(&entries[path, default: Entry()])
    if let document { entries[path]?.document = document }
  }

  /// Drops what concerns a target that has ended.
  mutating func forget(_ id: TargetID) {
    for path in order {
      entries[path]?.matching.removeAll { $0 == id }
      entries[path]?.leaving.removeAll { $0 == id }
    }
  }

  /// What is said of the documents.
  ///
  /// - Parameters:
  ///   - now: the moment.
  ///   - mayGet: whether the user may read a document that leaves all targets; else it is not said what became of it.
  func said(at now: Timestamp, mayGet: (Document) -> Bool) -> [WatchChange] {
    order.compactMap { path in
      guard let entry = entries[path], !(entry.matching.isEmpty && entry.leaving.isEmpty)
      else { return nil }
      let (matching, leaving) = (entry.matching.sorted(), entry.leaving.sorted())
      guard let document = entry.document,
        !matching.isEmpty || document.fields == nil || mayGet(document)
      else { return .left(path, leaving) }
      return .document(document.told(at: now), matching: matching, leaving: leaving)
    }
  }
}
