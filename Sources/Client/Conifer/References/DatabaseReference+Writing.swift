// Every write shows in local events at once, is queued, and is sent when there is a connection.
// Completion blocks run on the callback queue when the server has answered. In async code the forms
// without a block are those of `DatabaseReference+Async.swift`, which wait for the server.
extension DatabaseReference {
  /// Queues a write and returns at once, in async code too.
  ///
  /// - Parameter write: what to write, such as `.set("Attic")`.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func enqueue(_ write: WriteOperation) -> WriteReceipt { enqueue(write, nil) }

  /// Replaces what is here.
  ///
  /// - Parameter value: a String, a number, a Bool, a dictionary, an array or a server value; nil
  ///   deletes.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setValue(_ value: Any?) -> WriteReceipt { enqueue(.set(value)) }

  /// Replaces what is here.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - block: is given the server's error or nil, and this place.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setValue(
    _ value: Any?, withCompletionBlock block: @escaping CompletionBlock
  ) -> WriteReceipt { enqueue(.set(value), block) }

  /// Replaces what is here, with a priority.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  /// - Returns: what follows the write; it may be ignored.
  @available(
    *, noasync,
    message:
      "Await it with a priority that is Sendable, or enqueue(.set(value, priority: priority))."
  )
  @discardableResult
  public func setValue(_ value: Any?, andPriority priority: Any?) -> WriteReceipt {
    enqueue(.set(value, priority: priority))
  }

  /// Replaces what is here, with a priority.
  ///
  /// - Parameters:
  ///   - value: as in ``setValue(_:)->WriteReceipt``.
  ///   - priority: a String or a number; nil for none.
  ///   - block: is given the server's error or nil, and this place.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setValue(
    _ value: Any?, andPriority priority: Any?,
    withCompletionBlock block: @escaping CompletionBlock
  ) -> WriteReceipt { enqueue(.set(value, priority: priority), block) }

  /// Deletes what is here.
  ///
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func removeValue() -> WriteReceipt { enqueue(.remove) }

  /// Deletes what is here.
  ///
  /// - Parameter block: is given the server's error or nil, and this place.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func removeValue(completionBlock block: @escaping CompletionBlock) -> WriteReceipt {
    enqueue(.remove, block)
  }

  /// Sets the priority of what is here, which must not be empty.
  ///
  /// - Parameter priority: a String or a number; nil for none.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setPriority(_ priority: Any?) -> WriteReceipt { enqueue(.priority(priority)) }

  /// Sets the priority of what is here, which must not be empty.
  ///
  /// - Parameters:
  ///   - priority: a String or a number; nil for none.
  ///   - block: is given the server's error or nil, and this place.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func setPriority(
    _ priority: Any?, withCompletionBlock block: @escaping CompletionBlock
  ) -> WriteReceipt { enqueue(.priority(priority), block) }

  /// Replaces several places below at once, all or none, and leaves others as they are.
  ///
  /// - Parameter values: values by path from here, such as `posts/k`; `NSNull` deletes. No path may
  ///   be another one's or lead to one below it.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func updateChildValues(_ values: [AnyHashable: Any]) -> WriteReceipt {
    enqueue(.update(values))
  }

  /// Replaces several places below at once, all or none, and leaves others as they are.
  ///
  /// - Parameters:
  ///   - values: as in ``updateChildValues(_:)->WriteReceipt``.
  ///   - block: is given the server's error or nil, and this place.
  /// - Returns: what follows the write; it may be ignored.
  @discardableResult
  public func updateChildValues(
    _ values: [AnyHashable: Any], withCompletionBlock block: @escaping CompletionBlock
  ) -> WriteReceipt { enqueue(.update(values), block) }
}

extension DatabaseReference {
  /// Hands a write to the engine, or tells why it is none.
  func enqueue(_ operation: WriteOperation, _ block: CompletionBlock?) -> WriteReceipt {
    let user = block.map { UserCode<((any Error)?, DatabaseReference)>($0) }
    let completion: (@Sendable (DatabaseError?) -> Void)?
    if let user { completion = { user(($0, self)) } } else { completion = nil }
    do throws(DatabaseError) {
      if let error { throw error }
      return engine.write(try WriteRules.write(operation, at: path), completion: completion)
    } catch {
      database.deliver { completion?(error) }
      if block == nil { database.report(error) }
      return .failed(error)
    }
  }
}
