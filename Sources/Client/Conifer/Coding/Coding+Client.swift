import ConiferTree

extension DataSnapshot {
  /// The data decoded.
  ///
  /// - Parameters:
  ///   - type: what to make of it; an optional type is nil where there is nothing.
  ///   - decoder: how.
  /// - Throws: `coding`; the message names the place within the data.
  public func data<Value: Decodable>(
    as type: Value.Type, decoder: Database.Decoder = Database.Decoder()
  ) throws(DatabaseError) -> Value { try decoder.decode(type, from: node) }
}

extension MutableData {
  /// The data decoded; nil where there is nothing.
  ///
  /// - Parameters:
  ///   - type: what to make of it.
  ///   - decoder: how.
  /// - Throws: `coding`; the message names the place within the data.
  public func data<Value: Decodable>(
    as type: Value.Type, decoder: Database.Decoder = Database.Decoder()
  ) throws(DatabaseError) -> Value? { node.isEmpty ? nil : try decoder.decode(type, from: node) }

  /// Replaces all that is here by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - encoder: how.
  /// - Throws: `coding`; the message names the place within the value.
  public func set(
    from value: some Encodable, encoder: Database.Encoder = Database.Encoder()
  ) throws(DatabaseError) { self.value = try encoder.encode(value) }
}

extension DatabaseReference {
  /// Replaces what is here by a value's encoding; in async code it is awaited, or enqueued.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - encoder: how.
  ///   - completion: is given the error or nil when the server has answered.
  /// - Returns: what follows the write; it may be ignored.
  /// - Throws: `coding` for what cannot be encoded; then the completion is not called.
  @discardableResult
  public func setValue(
    from value: some Encodable, encoder: Database.Encoder = Database.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws(DatabaseError) -> WriteReceipt {
    let write = WriteOperation.set(try encoder.encode(value))
    guard let completion else { return enqueue(write) }
    return enqueue(write) { error, _ in completion(error) }
  }

  /// Replaces what is here by a value's encoding; returns when the server has answered.
  ///
  /// - Parameters:
  ///   - value: what to encode.
  ///   - encoder: how.
  /// - Returns: this place.
  /// - Throws: `coding`, why the write is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func setValue(
      from value: some Encodable, encoder: Database.Encoder = Database.Encoder()
    ) async throws(DatabaseError) -> DatabaseReference
  { try await applied(.set(from: value, encoder: encoder)) }
}
