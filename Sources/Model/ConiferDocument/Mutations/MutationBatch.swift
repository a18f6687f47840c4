/// A batch of mutations that the server applies whole or not at all.
public struct MutationBatch: Sendable, Hashable {
  /// When the writes were made on this device: the estimate of all their server timestamps.
  public let written: Timestamp
  /// The values that incremented fields had before the batch, of documents of which the server has
  /// said something. When the batch is applied again to a
  /// document that already has its effect, these values are set first, so that nothing is
  /// incremented twice.
  public let bases: [Mutation]
  /// The writes, in order.
  public let mutations: [Mutation]

  /// A batch as a store holds it.
  public init(written: Timestamp, bases: [Mutation], mutations: [Mutation]) {
    self.written = written
    self.bases = bases
    self.mutations = mutations
  }

  /// A new batch.
  ///
  /// - Parameters:
  ///   - mutations: the writes, in order.
  ///   - written: now.
  ///   - document: a document before the batch, with the writes that wait.
  public init(
    _ mutations: [Mutation], written: Timestamp, over document: (DocumentPath) -> Document
  ) {
    let bases = mutations.compactMap { mutation -> Mutation? in
      // A set replaces the field before it increments it, so applying it twice has the same result.
      guard case .patch(_, _, let transforms) = mutation.change else { return nil }
      // Nor has one of a version that the document has no longer.
      if case .updateTime = mutation.precondition { return nil }
      // Where the server's word is not known, neither is the earlier value: what comes is incremented.
      let shown = document(mutation.path)
      guard shown.hasServersWord else { return nil }
      let fields = shown.fields
      let bases = transforms.compactMap { transform in
        transform.operation.base(of: fields?[transform.field]).map { (transform.field, $0) }
      }
      guard !bases.isEmpty else { return nil }
      return Mutation(
        mutation.path,
        .patch(
          bases.reduce(into: .empty) { $0.set($1.1, at: $1.0) }, FieldMask(bases.map(\.0)), []),
        if: .exists(true))
    }
    self.init(written: written, bases: bases, mutations: mutations)
  }

  /// The batch by documents: for each that it writes, a batch of the writes to this one.
  package var parts: [DocumentPath: MutationBatch] {
    if let path = mutations.first?.path, mutations.count == 1,
      bases.allSatisfy({ $0.path == path })
    {
      return [path: self]
    }
    let writes = Dictionary(grouping: mutations, by: \.path)
    let bases = Dictionary(grouping: bases, by: \.path)
    let paths = Set(writes.keys).union(bases.keys)
    return Dictionary(
      uniqueKeysWithValues: paths.map { path in
        let part = MutationBatch(
          written: written, bases: bases[path] ?? [], mutations: writes[path] ?? [])
        return (path, part)
      })
  }

  /// The batch's writes to one document, in order.
  func writes(to path: DocumentPath) -> [Mutation] {
    (bases + mutations).filter { $0.path == path }
  }

  /// The document as it is shown until the server has answered.
  public func applied(to document: Document) -> Document {
    writes(to: document.path).reduce(document) { $1.applied(to: $0, written: written) }
  }
}
