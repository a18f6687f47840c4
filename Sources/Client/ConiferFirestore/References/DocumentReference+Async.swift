// The async forms, with the names of the Apple SDK. They return when the server has answered;
// offline they wait for a connection. The write is shown and queued at once, and goes on when the
// waiting task is cancelled.
extension DocumentReference {
  /// Replaces the document, and waits until the server has.
  ///
  /// - Parameter documentData: its fields.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func setData(_ documentData: [String: Any]) async throws(FirestoreError)
  { try await enqueue(.set(documentData)).applied() }

  /// Replaces the document, or some of its fields, and waits until the server has.
  ///
  /// - Parameters:
  ///   - documentData: the fields.
  ///   - merge: whether fields stay that the data has not.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func setData(
      _ documentData: [String: Any], merge: Bool
    ) async throws(FirestoreError)
  { try await enqueue(.set(documentData, merge: merge)).applied() }

  /// Replaces some fields of the document, which may be missing, and waits until the server has.
  ///
  /// - Parameters:
  ///   - documentData: the fields; what is not named is left out.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func setData(
      _ documentData: [String: Any], mergeFields: [Any]
    ) async throws(FirestoreError)
  { try await enqueue(.set(documentData, mergeFields: mergeFields)).applied() }

  /// Replaces some fields of the document, and waits until the server has.
  ///
  /// - Parameter fields: values by `String`, such as `address.city`, or ``FieldPath``.
  /// - Throws: `notFound` when there is no such document; why it is invalid, was not queued, or was
  ///   refused; `cancelled`.
  nonisolated(nonsending)
    public func updateData(_ fields: [AnyHashable: Any]) async throws(FirestoreError)
  { try await enqueue(.update(fields)).applied() }

  /// Deletes the document, and waits until the server has; collections below it stay.
  ///
  /// - Throws: why it was not queued, or was refused; `cancelled`.
  nonisolated(nonsending)
    public func delete() async throws(FirestoreError)
  { try await enqueue(.delete).applied() }
}
