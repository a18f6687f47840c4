/// The path of a field within a document, as names from the document down.
///
/// Equality and order are by UTF-8 bytes, name by name.
public struct FieldPath: Sendable {
  /// The names; at least one, and none is empty.
  public let names: [String]

  package init(unchecked names: [String]) { self.names = names }

  /// A path of names that may hold any character.
  ///
  /// - Parameter names: the names from the document down.
  /// - Throws: `invalidFieldPath` when there is none, or one is empty.
  public init(_ names: [String]) throws(DocumentError) {
    guard !names.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
      throw DocumentError(
        .invalidFieldPath, "A field path has an empty name. Give each field a name.")
    }
    self.init(unchecked: names)
  }

  /// The pseudo field `__name__`, which stands for the document's id.
  public static let documentID = FieldPath(unchecked: ["__name__"])

  /// Whether this is the pseudo field `__name__`.
  public var isDocumentID: Bool { self == .documentID }

  /// The path without its last name; none when there is but one.
  var parent: FieldPath? {
    names.count > 1 ? FieldPath(unchecked: Array(names.dropLast())) : nil
  }

  /// The path of a field within this one.
  public func appending(_ name: String) -> FieldPath { FieldPath(unchecked: names + [name]) }

  /// Whether another path is this one or within it.
  public func contains(_ other: FieldPath) -> Bool {
    names.count <= other.names.count
      && zip(names, other.names).allSatisfy { $0.hasSameBytes(as: $1) }
  }
}

extension FieldPath: Hashable, Comparable {
  /// Whether the names are the same bytes.
  public static func == (a: FieldPath, b: FieldPath) -> Bool {
    a.names.count == b.names.count && a.contains(b)
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for name in names { name.hashBytes(into: &hasher) }
  }

  /// Orders name by name; a path comes before what is within it.
  public static func < (a: FieldPath, b: FieldPath) -> Bool {
    for (x, y) in zip(a.names, b.names) {
      let order = x.compareUTF8(y)
      if order != 0 { return order < 0 }
    }
    return a.names.count < b.names.count
  }
}
