public import ConiferDocument
public import ConiferKeyValue

/// An index that a client declares over the documents of collections with one id: composite when it
/// has several fields.
public struct DocumentIndex: Sendable {
  /// Whether an index serves queries of one collection or of a collection group.
  public enum Scope: Hashable, Sendable {
    /// Those of one collection.
    case collection
    /// Those of all collections with the index's id, wherever they are.
    case group
  }

  /// A field of an index, and how the index holds its values.
  public struct Field: Hashable, Sendable {
    /// Whether an index holds a field's values ascending, descending, or by the elements of an
    /// array.
    public enum Kind: Hashable, Sendable {
      /// The whole value, from the least to the greatest.
      case ascending
      /// The whole value, from the greatest to the least.
      case descending
      /// Each element of an array, for `array-contains`.
      case contains
    }

    /// The field.
    public let path: FieldPath
    /// How its values are held.
    public let kind: Kind

    /// A field, and how the index holds its values.
    public init(_ path: FieldPath, _ kind: Kind = .ascending) {
      self.path = path
      self.kind = kind
    }
  }

  /// The most indexes of one tree of documents: as many as the service allows composite ones.
  package static let mostInTree = 1000
  /// The most fields of one index, beside `__name__`.
  static let mostFields = 100

  /// The id of the collections whose documents are indexed.
  public let collectionID: String
  /// Which documents one query finds.
  public let scope: Scope
  /// The fields, the most significant first; a document that lacks one of them is not in the index. A field that contains comes
  /// first.
  public let fields: [Field]
  /// How documents are sorted whose fields are equal: by their names, in this direction.
  public let nameDirection: Direction

  /// An index.
  ///
  /// A field that `contains` serves wherever it is named, as with the service: it is moved to the front, since queries compare it
  /// with one value.
  ///
  /// - Parameters:
  ///   - collectionID: the id of the collections, such as `rooms`; no path.
  ///   - fields: 1 to 100 of them, the most significant first; one of them at most `contains`. Behind
  ///     them may be `__name__`: without it names have the direction of the last field before, or ascend
  ///     after `contains`.
  ///   - scope: which documents one query finds.
  /// - Throws: `invalid` (an id that is none; no or too many fields; a field twice; two that contain;
  ///   `__name__` alone, before the end, or as `contains`).
  public init(
    _ collectionID: String, _ fields: [Field], scope: Scope = .collection
  ) throws(StoreError) {
    let named = try DocumentIndex(stored: collectionID, fields, scope: scope)
    self.collectionID = named.collectionID
    self.scope = named.scope
    self.fields =
      named.fields.filter { $0.kind == .contains } + named.fields.filter { $0.kind != .contains }
    nameDirection = named.nameDirection
  }

  /// An index whose rows have the fields in this order; stores made before fields that contain came first may have others.
  init(stored collectionID: String, _ fields: [Field], scope: Scope) throws(StoreError) {
    guard !collectionID.isEmpty, !collectionID.utf8.contains(UInt8(ascii: "/")) else {
      throw StoreError(
        .invalid,
        "\"\(collectionID)\" is no collection's id: name the last segment of the path, without "
          + "slashes.")
    }
    func refused(_ why: String) -> StoreError {
      StoreError(.invalid, "The index of \(collectionID) \(why)")
    }
    var named = fields
    var last: Field.Kind?
    if fields.last?.path.isDocumentID == true { last = named.removeLast().kind }
    guard named.count <= Self.mostFields else {
      throw refused(
        "has \(named.count) fields, and \(Self.mostFields) are allowed: leave out what no query "
          + "compares or orders by.")
    }
    guard !named.isEmpty else {
      throw refused(
        fields.isEmpty
          ? "has no fields: name one at least."
          : "has no field but __name__: documents are stored by their names, so leave it out.")
    }
    guard !named.contains(where: \.path.isDocumentID) else {
      throw refused("has __name__ before its end: make it the last field, or leave it out.")
    }
    guard last != .contains else {
      throw refused("has __name__ as contains: give it an order, or leave it out.")
    }
    for (place, field) in named.enumerated()
    where named[..<place].contains(where: { $0.path == field.path }) {
      throw refused("has the field \(field.path) twice: name it once.")
    }
    guard named.count(where: { $0.kind == .contains }) <= 1 else {
      throw refused("has several fields that contain, and one is allowed: make an index for each.")
    }
    self.collectionID = collectionID
    self.scope = scope
    self.fields = named
    nameDirection = last?.direction ?? Self.impliedDirection(named)
  }

  /// The direction of names when none is stated.
  private static func impliedDirection(_ fields: [Field]) -> Direction {
    fields.last?.kind.direction ?? .ascending
  }

  /// Whether the direction of names differs from the one that the fields imply.
  package var statesNameDirection: Bool { nameDirection != Self.impliedDirection(fields) }
}

extension DocumentIndex.Field.Kind {
  /// The direction of whole values; none for elements.
  var direction: Direction? {
    switch self {
    case .ascending: .ascending
    case .descending: .descending
    case .contains: nil
    }
  }

  /// Values in a direction.
  init(_ direction: Direction) { self = direction == .ascending ? .ascending : .descending }
}

extension DocumentIndex: Hashable {
  /// Whether both hold the same documents in the same order; ids are compared by their bytes.
  public static func == (a: DocumentIndex, b: DocumentIndex) -> Bool {
    a.collectionID.utf8.elementsEqual(b.collectionID.utf8) && a.scope == b.scope
      && a.fields == b.fields && a.nameDirection == b.nameDirection
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for byte in collectionID.utf8 { hasher.combine(byte) }
    hasher.combine(scope)
    hasher.combine(fields)
    hasher.combine(nameDirection)
  }
}

extension DocumentIndex: CustomStringConvertible {
  /// The collections, and the fields with how they are held.
  public var description: String {
    var names = fields.map { "\($0.path) \($0.kind)" }
    if statesNameDirection { names.append("__name__ \(nameDirection)") }
    let place = scope == .collection ? collectionID : "all collections \(collectionID)"
    return "\(place) on \(names.joined(separator: ", "))"
  }
}
