import ArgumentParser
import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// The destination of a write to a document: the cache, as the server's word, or the outbound queue.
struct DocumentEditOptions: ParsableArguments {
  @OptionGroup var edit: EditOptions
  @OptionGroup var documents: DocumentOptions

  /// Commits a write, or queues it, and tells the user.
  ///
  /// - Parameters:
  ///   - path: the document.
  ///   - words: what was done, for people, such as `set rooms/eros`.
  ///   - making: whether a store and a tree that are not there are made.
  ///   - mutation: the write, of the database.
  func perform(
    _ path: DocumentPath, _ words: String, making: Bool, _ console: Console,
    _ mutation: (DatabaseID) throws -> Mutation
  ) async throws {
    func write(_ opened: OpenDocumentTree, _ mutation: Mutation) async throws {
      if edit.enqueue {
        try await queue(mutation, words, opened, console)
      } else {
        try await commit(mutation, words, opened, console)
      }
    }
    if making {
      try await documents.editing(console, prepare: mutation, write)
    } else {
      try await documents.reading(console, prepare: mutation, write)
    }
  }

  /// Stores what the server would say of the document after the write.
  private func commit(
    _ mutation: Mutation, _ words: String, _ opened: OpenDocumentTree, _ console: Console
  ) async throws {
    let path = mutation.path
    let now = Timestamp.now
    let base = try opened.backend.inspectDocuments { try $0.document(opened.tree, path) }
    if base.state == .unknown, case .patch = mutation.change {
      throw Failure.missing(
        "unknown-fields",
        "The document \(path) exists, but its fields are not known here, and those that the write leaves alone would be "
          + "lost: replace all with conifer doc set, or queue the write with --enqueue.")
    }
    guard mutation.precondition.holds(for: base) else {
      throw Failure.missing(
        "no-document", "There is no document \(path) to update: conifer doc set makes it.")
    }
    let written = mutation.applied(to: base, written: now)
    let document = Document(
      path, written.state, version: now, readTime: now, createTime: written.createTime)
    try document.validateSize()
    try await opened.backend.commit([.documents(opened.tree, [.put(document)])])
    try console.print(
      documents.store.json ? Report.object([("ok", .bool(true))]).compact : words)
  }

  private func queue(
    _ mutation: Mutation, _ words: String, _ opened: OpenDocumentTree, _ console: Console
  ) async throws {
    let lane = opened.lane(edit.identity ?? "")
    let shown = try opened.backend.inspectDocuments { try $0.document(lane, mutation.path) }
    let batch = MutationBatch([mutation], written: .now) { _ in shown }
    let receipt = try await opened.backend.commit([.enqueue(lane, batch.payload)])
    try EditOptions.tell(receipt, words, asJSON: documents.store.json, console)
  }
}

extension Timestamp {
  /// Now, to the millisecond.
  static var now: Timestamp {
    // The system's clock may stand anywhere; no document is newer than the year 9999.
    (try? Timestamp(microseconds: Platform.now() * 1000)) ?? .zero
  }
}
