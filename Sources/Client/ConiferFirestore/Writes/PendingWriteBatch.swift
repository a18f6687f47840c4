import ConiferDocument
import ConiferStorage

/// A write, or a batch of writes made together, that the server has not finally answered.
public struct PendingWriteBatch: Sendable, Identifiable {
  /// The state of a pending batch, which is queued, sent, of unknown outcome, or rejected.
  public enum State: Sendable {
    /// They wait to be sent.
    case queued
    /// They were sent, and the answer is awaited.
    case sent
    /// They were sent, or may have been by a run of the app that was killed, and no answer came. They are
    /// sent again.
    case outcomeUnknown
    /// The server refused them: they wait for the app to retry or discard them.
    case rejected(FirestoreError)
  }

  /// The change of one document in a pending batch, with the fields that are written.
  public struct Change: @unchecked Sendable {
    // Unchecked, as values in an `Any` are; they are constants of the client's own types.
    /// Whether a document is set, merged, updated or deleted.
    public enum Kind: Sendable, Hashable {
      /// The document is replaced.
      case set
      /// Some fields are replaced; the document may be missing.
      case merge
      /// Some fields of a document that exists are replaced.
      case update
      /// The document is deleted.
      case delete
    }

    /// The document.
    public let document: DocumentReference
    /// Whether it is set, merged, updated or deleted.
    public let kind: Kind
    /// The fields that are written, with ``FieldValue`` for instructions, as an update takes them.
    public let values: [FieldPath: Any]
  }

  /// The id, the same as the receipt gives.
  public let id: WriteReceipt.ID
  /// The changes, in order; empty when this version cannot read what a later one wrote: that is not sent, and may be
  /// discarded.
  public let changes: [Change]
  /// The state of the writes.
  public let state: State
  /// How often they were sent, over all runs of the app.
  public let attempts: Int
  /// When they were made, by the device's clock.
  public let written: Timestamp

  init(_ firestore: Firestore, _ write: PendingDocumentWrite) {
    id = write.id
    changes = write.batch.mutations.map { Change(firestore, $0) }
    state =
      switch write.state {
      case .queued: .queued
      case .sent: .sent
      case .outcomeUnknown: .outcomeUnknown
      case .rejected(reason: let reason): .rejected(FirestoreError(RejectionReason(reason).error))
      }
    attempts = write.attempts
    written = Timestamp(write.batch.written)
  }
}

extension PendingWriteBatch.Change {
  init(_ firestore: Firestore, _ mutation: Mutation) {
    document = DocumentReference(firestore, mutation.path)
    let writer = DataWriter(firestore: firestore)
    var values: [FieldPath: Any] = [:]
    switch mutation.change {
    case .set(let fields, _):
      kind = .set
      for field in fields.fields { values[FieldPath([field.name])] = writer.value(field.value) }
    case .patch(let fields, let mask, _):
      kind = mutation.precondition == .none ? .merge : .update
      for path in mask.paths {
        values[FieldPath(path.names)] = fields[path].map { writer.value($0) } ?? FieldValue.delete()
      }
    case .delete, .verify: kind = .delete
    }
    for transform in mutation.transforms {
      values[FieldPath(transform.field.names)] = FieldValue(transform.operation)
    }
    self.values = values
  }
}
