import ConiferTree

extension DataSnapshot {
  /// The data decoded.
  ///
  /// - Parameters:
  ///   - type: what to make of it.
  ///   - decoder: how; see ``NodeDecoder``.
  /// - Throws: `coding`.
  public func data<Value: Decodable>(
    as type: Value.Type, decoder: NodeDecoder = NodeDecoder()
  ) throws(DatabaseError) -> Value { try decoder.decode(type, from: node) }
}

extension MutableData {
  /// The data decoded; nil where there is nothing.
  ///
  /// - Parameter type: what to make of it.
  /// - Throws: `coding`.
  public func data<Value: Decodable>(as type: Value.Type) throws(DatabaseError) -> Value? {
    node.isEmpty ? nil : try NodeDecoder().decode(type, from: node)
  }

  /// Replaces all that is here by a value's encoding.
  ///
  /// - Throws: `coding`.
  public func set(from value: some Encodable) throws(DatabaseError) {
    self.value = try NodeEncoder().encode(value)
  }
}

extension DatabaseReference {
  /// Replaces what is here by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode; see ``NodeEncoder``.
  ///   - block: is given the error or nil, and this place; also when the value cannot be encoded.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setValue(
    from value: some Encodable, completion block: CompletionBlock? = nil
  ) -> WriteReceipt {
    enqueue(.set(from: value), block)
  }

  /// Replaces what is here by a value's encoding; returns when the server has answered.
  ///
  /// - Parameter value: what to encode; see ``NodeEncoder``.
  /// - Returns: this place.
  /// - Throws: `coding`, why the write is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func setValue(from value: some Encodable) async throws(DatabaseError)
    -> DatabaseReference
  { try await applied(.set(from: value)) }
}
