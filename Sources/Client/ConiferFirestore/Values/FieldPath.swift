import ConiferDocument

/// The path of a field within a document, given as names that may hold any character.
///
/// Any names make one; where one is empty, the call that uses it tells the error.
public struct FieldPath: Sendable {
  /// The names.
  let names: [String]

  /// The field that some names lead to.
  ///
  /// - Parameter fieldNames: the names from the document down; one at least, and none is empty.
  public init(_ fieldNames: [String]) { names = fieldNames }

  /// What stands for a document's own id in filters and orders.
  public static func documentID() -> FieldPath { FieldPath(["__name__"]) }

  /// The path as the model has it.
  ///
  /// - Throws: `invalidArgument` when there is no name or one is empty.
  func checked() throws(FirestoreError) -> ConiferDocument.FieldPath {
    do throws(DocumentError) {
      return try ConiferDocument.FieldPath(names)
    } catch {
      throw FirestoreError(error)
    }
  }

  /// The path that a text or a `FieldPath` names.
  ///
  /// - Parameter name: such as `"address.city"`, or a `FieldPath`.
  /// - Throws: `invalidArgument` for a malformed one and for another type.
  static func checked(_ name: Any) throws(FirestoreError) -> ConiferDocument.FieldPath {
    let name = (name as? AnyHashable)?.base ?? name
    if let path = name as? FieldPath { return try path.checked() }
    guard let text = name as? String else {
      throw FirestoreError(
        .invalidArgument,
        "A field is named by a value of type \(type(of: name)). Name it by a String or a FieldPath."
      )
    }
    do throws(DocumentError) {
      return try ConiferDocument.FieldPath(dotted: text)
    } catch {
      throw FirestoreError(error)
    }
  }
}

extension FieldPath: Hashable, CustomStringConvertible {
  /// Whether the names are the same bytes.
  public static func == (a: FieldPath, b: FieldPath) -> Bool {
    a.names.elementsEqual(b.names) { $0.utf8.elementsEqual($1.utf8) }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for name in names {
      for byte in name.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8.max)
    }
  }

  /// The names with dots between them.
  public var description: String { names.joined(separator: ".") }
}
