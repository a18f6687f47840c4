import ConiferSync
import ConiferTree

// What the server does for this client when the connection ends, however it ends. It is done once:
// ask again after each time that `.info/connected` turns true.
extension DatabaseReference {
  /// Replaces what is here when the connection ends.
  ///
  /// - Parameter value: as in ``setValue(_:)->WriteReceipt``.
  public func onDisconnectSetValue(_ value: Any?) { onDisconnectPut(value, nil, nil) }

  /// Replaces what is here when the connection ends.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - block: is given the error or nil when the server has taken note, and this place.
  public func onDisconnectSetValue(
    _ value: Any?, withCompletionBlock block: @escaping CompletionBlock
  ) { onDisconnectPut(value, nil, block) }

  /// Replaces what is here when the connection ends, with a priority.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  @available(*, noasync, message: "Await it with a priority that is Sendable.")
  public func onDisconnectSetValue(_ value: Any?, andPriority priority: Any?) {
    onDisconnectPut(value, priority, nil)
  }

  /// Replaces what is here when the connection ends, with a priority.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  ///   - block: is given the error or nil when the server has taken note, and this place.
  public func onDisconnectSetValue(
    _ value: Any?, andPriority priority: Any?,
    withCompletionBlock block: @escaping CompletionBlock
  ) { onDisconnectPut(value, priority, block) }

  /// Deletes what is here when the connection ends.
  public func onDisconnectRemoveValue() { onDisconnectPut(nil, nil, nil) }

  /// Deletes what is here when the connection ends.
  ///
  /// - Parameter block: is given the error or nil when the server has taken note, and this place.
  public func onDisconnectRemoveValue(completionBlock block: @escaping CompletionBlock) {
    onDisconnectPut(nil, nil, block)
  }

  /// Replaces several places below when the connection ends.
  ///
  /// - Parameter values: as in ``updateChildValues(_:)->WriteReceipt``.
  public func onDisconnectUpdateChildValues(_ values: [AnyHashable: Any]) {
    onDisconnectMerge(values, nil)
  }

  /// Replaces several places below when the connection ends.
  ///
  /// - Parameters:
  ///   - values: as in ``updateChildValues(_:)->WriteReceipt``.
  ///   - block: is given the error or nil when the server has taken note, and this place.
  public func onDisconnectUpdateChildValues(
    _ values: [AnyHashable: Any], withCompletionBlock block: @escaping CompletionBlock
  ) { onDisconnectMerge(values, block) }

  /// Forgets what was to happen here and below when the connection ends.
  public func cancelDisconnectOperations() { onDisconnectCancel(nil) }

  /// Forgets what was to happen here and below when the connection ends.
  ///
  /// - Parameter block: is given the error or nil when the server has taken note, and this place.
  public func cancelDisconnectOperations(completionBlock block: @escaping CompletionBlock) {
    onDisconnectCancel(block)
  }
}

extension DatabaseReference {
  private func onDisconnectPut(_ value: Any?, _ priority: Any?, _ block: CompletionBlock?) {
    sendToEngine(block) { () throws(DatabaseError) in
      .put(path, try WriteRules.set(value, priority: priority, at: path))
    }
  }

  private func onDisconnectMerge(_ values: [AnyHashable: Any], _ block: CompletionBlock?) {
    sendToEngine(block) { () throws(DatabaseError) in try Self.merge(values, at: path) }
  }

  private func onDisconnectCancel(_ block: CompletionBlock?) {
    sendToEngine(block) { () throws(DatabaseError) in
      try WriteRules.check(path)
      return .cancel(path)
    }
  }

  static func merge(
    _ values: [AnyHashable: Any], at path: Path
  ) throws(DatabaseError) -> DisconnectRequest {
    let changes = try WriteRules.update(values, at: path)
    return .merge(
      path, changes.map { NodeChange($0.path.relative(to: path) ?? $0.path, $0.node) })
  }

  /// Hands an operation to the engine, or tells why it is none.
  private func sendToEngine(
    _ block: CompletionBlock?, _ make: () throws(DatabaseError) -> DisconnectRequest
  ) {
    let user = block.map { UserCode<((any Error)?, DatabaseReference)>($0) }
    let completion: (@Sendable (DatabaseError?) -> Void)?
    if let user { completion = { user(($0, self)) } } else { completion = nil }
    do throws(DatabaseError) {
      if let error { throw error }
      let operation = try make()
      if case .merge(_, let changes) = operation, changes.isEmpty {
        return database.deliver { completion?(nil) }
      }
      engine.onDisconnect(operation, completion: completion)
    } catch {
      database.deliver { completion?(error) }
      if block == nil { database.report(error) }
    }
  }
}
