import ConiferDocument

// Every write shows in listeners at once, is queued, and is sent when there is a connection. Completion
// blocks run on the callback queue when the server has answered. In async code the forms without a block
// are those of `DocumentReference+Async.swift`, which wait for the server.
extension DocumentReference {
  /// Queues a write and returns at once, in async code too.
  ///
  /// - Parameter write: what to write, such as `.set(["name": "Eros"])`.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func enqueue(_ write: DocumentWrite) -> WriteReceipt { enqueue(write, nil) }

  /// Replaces the document.
  ///
  /// - Parameter documentData: its fields.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(_ documentData: [String: Any]) -> WriteReceipt {
    enqueue(.set(documentData))
  }

  /// Replaces the document.
  ///
  /// - Parameters:
  ///   - documentData: its fields.
  ///   - completion: given the server's error, or nil.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(
    _ documentData: [String: Any], completion: (((any Error)?) -> Void)?
  ) -> WriteReceipt { enqueue(.set(documentData), completion) }

  /// Replaces the document, or some of its fields.
  ///
  /// - Parameters:
  ///   - documentData: the fields.
  ///   - merge: whether fields stay that the data has not.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(_ documentData: [String: Any], merge: Bool) -> WriteReceipt {
    enqueue(.set(documentData, merge: merge))
  }

  /// Replaces the document, or some of its fields.
  ///
  /// - Parameters:
  ///   - documentData: the fields.
  ///   - merge: whether fields stay that the data has not.
  ///   - completion: given the server's error, or nil.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(
    _ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)?
  ) -> WriteReceipt { enqueue(.set(documentData, merge: merge), completion) }

  /// Replaces some fields of the document, which may be missing.
  ///
  /// - Parameters:
  ///   - documentData: the fields; what is not named is left out.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(_ documentData: [String: Any], mergeFields: [Any]) -> WriteReceipt {
    enqueue(.set(documentData, mergeFields: mergeFields))
  }

  /// Replaces some fields of the document, which may be missing.
  ///
  /// - Parameters:
  ///   - documentData: the fields; what is not named is left out.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  ///   - completion: given the server's error, or nil.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setData(
    _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)?
  ) -> WriteReceipt { enqueue(.set(documentData, mergeFields: mergeFields), completion) }

  /// Replaces some fields of the document, which the server refuses when it does not exist.
  ///
  /// - Parameter fields: values by `String`, such as `address.city`, or ``FieldPath``.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func updateData(_ fields: [AnyHashable: Any]) -> WriteReceipt {
    enqueue(.update(fields))
  }

  /// Replaces some fields of the document, which the server refuses when it does not exist.
  ///
  /// - Parameters:
  ///   - fields: values by `String`, such as `address.city`, or ``FieldPath``.
  ///   - completion: given the server's error, or nil.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)?
  ) -> WriteReceipt { enqueue(.update(fields), completion) }

  /// Deletes the document; collections below it stay.
  ///
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func delete() -> WriteReceipt { enqueue(.delete) }

  /// Deletes the document; collections below it stay.
  ///
  /// - Parameter completion: given the server's error, or nil.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func delete(completion: (((any Error)?) -> Void)?) -> WriteReceipt {
    enqueue(.delete, completion)
  }
}

extension DocumentReference {
  /// Hands a write to the engine, or tells why it is none.
  func enqueue(
    _ write: DocumentWrite, _ completion: (((any Error)?) -> Void)?
  ) -> WriteReceipt {
    firestore.write(completion) { () throws(FirestoreError) in
      [try write.mutation(for: self)]
    }
  }
}

extension Firestore {
  /// Hands writes to the engine, or tells the completion block, the receipt or the log why they are none.
  func write(
    _ completion: (((any Error)?) -> Void)?, _ make: () throws(FirestoreError) -> [Mutation]
  ) -> WriteReceipt {
    let user = completion.map { UserCode<(any Error)?>($0) }
    do throws(FirestoreError) {
      let ended: (@Sendable (FirestoreError?) -> Void)?
      if let user { ended = { user($0) } } else { ended = nil }
      return try engine().write(try make(), ended)
    } catch {
      if let user { deliver { user(error) } } else { report(error) }
      return .failed(DatabaseError(error))
    }
  }
}

extension WriteReceipt {
  /// Waits until the server has applied the write.
  ///
  /// - Throws: why it was not, `cancelled`.
  nonisolated(nonsending)
    func applied() async throws(FirestoreError)
  {
    do throws(DatabaseError) {
      try await acknowledged()
    } catch {
      throw FirestoreError(error)
    }
  }
}
