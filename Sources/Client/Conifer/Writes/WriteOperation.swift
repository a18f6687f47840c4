/// A write for ``DatabaseReference/enqueue(_:)``, such as a set, an update or a removal.
public struct WriteOperation {
  /// What the app gave, unchecked.
  enum Content {
    case set(Any?, priority: Any?)
    case setEncoded(any Encodable, Database.Encoder)
    case update([AnyHashable: Any])
    case setPriority(Any?)
  }

  let content: Content

  /// Replaces what is there.
  ///
  /// - Parameters:
  ///   - value: a String, a number, a Bool, a dictionary, an array or a server value; nil deletes.
  ///   - priority: a String or a number; nil for none.
  public static func set(_ value: Any?, priority: Any? = nil) -> WriteOperation {
    WriteOperation(content: .set(value, priority: priority))
  }

  /// Replaces what is there by a value's encoding.
  ///
  /// - Parameters:
  ///   - value: what to encode; what cannot be encoded is told by the write.
  ///   - encoder: how.
  public static func set(
    from value: some Encodable, encoder: Database.Encoder = Database.Encoder()
  ) -> WriteOperation { WriteOperation(content: .setEncoded(value, encoder)) }

  /// Replaces several places below at once, all or none, and leaves others as they are.
  ///
  /// - Parameter values: values by path from there, such as `posts/k`; `NSNull` deletes. No path may be
  ///   another one's or lead to one below it.
  public static func update(_ values: [AnyHashable: Any]) -> WriteOperation {
    WriteOperation(content: .update(values))
  }

  /// Deletes what is there.
  public static var remove: WriteOperation { .set(nil) }

  /// Sets the priority of what is there, which must not be empty.
  ///
  /// - Parameter priority: a String or a number; nil for none.
  public static func priority(_ priority: Any?) -> WriteOperation {
    WriteOperation(content: .setPriority(priority))
  }
}
