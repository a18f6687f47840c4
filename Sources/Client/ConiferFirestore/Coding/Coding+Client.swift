import ConiferDocument

extension DocumentSnapshot {
  /// The fields decoded.
  ///
  /// - Parameters:
  ///   - type: what to make of them; an optional type is nil where there is no document.
  ///   - serverTimestampBehavior: what stands for server timestamps that the server has yet to say.
  ///   - decoder: how.
  /// - Throws: `invalidArgument`; the message names the place within the document.
  public final func data<Value: Decodable>(
    as type: Value.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    decoder: Firestore.Decoder = Firestore.Decoder()
  ) throws(FirestoreError) -> Value {
    let fields = document.fields.map {
      DocumentValue.map($0.resolved(serverTimestampBehavior.model))
    }
    return try decoder.decode(type, from: fields ?? .null, in: reference, reference.firestore)
  }
}

extension DocumentReference {
  /// Reads the document once and decodes it.
  ///
  /// - Parameters:
  ///   - type: what to make of it; an optional type is nil where there is no document.
  ///   - serverTimestampBehavior: what stands for server timestamps that the server has yet to say.
  ///   - source: where from.
  ///   - decoder: how.
  ///   - completion: given the value, or why there is none; on the callback queue.
  public func getDocument<Value: Decodable>(
    as type: Value.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
    source: FirestoreSource = .default, decoder: Firestore.Decoder = Firestore.Decoder(),
    completion: @escaping (Result<Value, any Error>) -> Void
  ) {
    getDocument(source: source) { snapshot, error in
      completion(
        Result {
          guard let snapshot else { throw error ?? FirestoreError(.unknown, "Nothing was told.") }
          return try snapshot.data(as: type, with: serverTimestampBehavior, decoder: decoder)
        })
    }
  }

  /// Reads the document once and decodes it.
  ///
  /// - Parameters:
  ///   - type: what to make of it; an optional type is nil where there is no document.
  ///   - serverTimestampBehavior: what stands for server timestamps that the server has yet to say.
  ///   - source: where from.
  ///   - decoder: how.
  /// - Throws: as `getDocument(source:)`, and `invalidArgument` for what cannot be decoded.
  nonisolated(nonsending)
    public func getDocument<Value: Decodable>(
      as type: Value.Type, with serverTimestampBehavior: ServerTimestampBehavior = .none,
      source: FirestoreSource = .default, decoder: Firestore.Decoder = Firestore.Decoder()
    ) async throws(FirestoreError) -> Value
  {
    let snapshot = try await getDocument(source: source)
    return try snapshot.data(as: type, with: serverTimestampBehavior, decoder: decoder)
  }
}

extension DocumentWrite {
  /// Replaces the document by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode; what cannot be encoded is told by the write.
  ///   - merge: whether fields stay that the encoding has not.
  ///   - encoder: how.
  public static func set(
    from value: some Encodable, merge: Bool = false,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) -> DocumentWrite {
    do throws(FirestoreError) {
      return .set(try encoder.encode(value), merge: merge)
    } catch {
      return DocumentWrite(content: .fault(error))
    }
  }
}

// As on Apple, these throw what cannot be encoded, and return at once in async code too;
// `enqueue(.set(from: value)).acknowledged()` waits for the server.
extension DocumentReference {
  /// Replaces the document by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - encoder: how.
  ///   - completion: given the server's error, or nil; on the callback queue.
  /// - Returns: what follows the write; it may be ignored.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws(FirestoreError) -> WriteReceipt {
    enqueue(.set(try encoder.encode(value)), completion)
  }

  /// Replaces the document, or some of its fields, by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - merge: whether fields stay that the encoding has not.
  ///   - encoder: how.
  ///   - completion: given the server's error, or nil; on the callback queue.
  /// - Returns: what follows the write; it may be ignored.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws(FirestoreError) -> WriteReceipt {
    enqueue(.set(try encoder.encode(value), merge: merge), completion)
  }

  /// Replaces some fields of the document, which may be missing, by those of a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the encoding.
  ///   - encoder: how.
  ///   - completion: given the server's error, or nil; on the callback queue.
  /// - Returns: what follows the write; it may be ignored.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws(FirestoreError) -> WriteReceipt {
    enqueue(.set(try encoder.encode(value), mergeFields: mergeFields), completion)
  }
}

extension CollectionReference {
  /// Adds a document with a new id and a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - encoder: how.
  ///   - completion: given the server's error, or nil; on the callback queue.
  /// - Returns: the document, which can be listened to at once.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func addDocument(
    from value: some Encodable, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws(FirestoreError) -> DocumentReference {
    let document = document()
    try document.setData(from: value, encoder: encoder, completion: completion)
    return document
  }
}

extension WriteBatch {
  /// Replaces a document, or some of its fields, by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - document: the document.
  ///   - merge: whether fields stay that the encoding has not.
  ///   - encoder: how.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, forDocument document: DocumentReference, merge: Bool = false,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws(FirestoreError) -> WriteBatch {
    add(.set(try encoder.encode(value), merge: merge), document)
  }

  /// Replaces some fields of a document, which may be missing, by those of a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - document: the document.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the encoding.
  ///   - encoder: how.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws(FirestoreError) -> WriteBatch {
    add(.set(try encoder.encode(value), mergeFields: mergeFields), document)
  }
}

extension Transaction {
  /// Replaces a document, or some of its fields, by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - document: the document.
  ///   - merge: whether fields stay that the encoding has not.
  ///   - encoder: how.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, forDocument document: DocumentReference, merge: Bool = false,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws(FirestoreError) -> Transaction {
    add(.set(try encoder.encode(value), merge: merge), document)
  }

  /// Replaces some fields of a document, which may be missing, by those of a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - document: the document.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the encoding.
  ///   - encoder: how.
  /// - Throws: `invalidArgument` for what cannot be encoded.
  @discardableResult
  public func setData(
    from value: some Encodable, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws(FirestoreError) -> Transaction {
    add(.set(try encoder.encode(value), mergeFields: mergeFields), document)
  }
}
