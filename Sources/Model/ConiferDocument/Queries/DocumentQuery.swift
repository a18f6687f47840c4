/// A query of the documents of a collection or a collection group, with conditions, an order, a
/// range and a limit.
///
/// A query is built by methods that each return another one and throw where the service would refuse
/// it:
///
/// ```swift
/// let query = try DocumentQuery(.collection(rooms), in: database)
///   .filtered(.field(size, .greaterThan, 3)).ordered(by: size, .descending).limited(to: 10)
/// ```
public struct DocumentQuery: Sendable, Hashable {
  /// The collection, collection group or single document that a query looks at.
  public enum Source: Sendable, Hashable {
    /// The documents of a collection, without those below them.
    case collection(CollectionPath)
    /// The documents of all collections with this id, wherever they are.
    case group(String)
    /// One document.
    case document(DocumentPath)
  }

  /// A field that a query sorts by, with the direction.
  public struct Order: Sendable, Hashable {
    /// The field; `__name__` for the document itself.
    public let field: FieldPath
    /// From the least value to the greatest or the other way.
    public let direction: Direction

    /// A field to sort by.
    public init(_ field: FieldPath, _ direction: Direction = .ascending) {
      self.field = field
      self.direction = direction
    }
  }

  /// One end of a query's range, given as a value for each of the first orders.
  public struct Cursor: Sendable, Hashable {
    /// The values; a reference where the order is by `__name__`.
    public let values: [DocumentValue]
    /// Whether what is at the cursor belongs to the range.
    public let isInclusive: Bool
  }

  /// Whether a limit keeps the first or the last documents of the range.
  public enum Side: Sendable, Hashable {
    /// The first documents in the query's order.
    case first
    /// The last documents in the query's order.
    case last
  }

  /// The maximum number of documents in a query's result, and whether the first or the last ones
  /// are kept.
  public struct Limit: Sendable, Hashable {
    /// The number of documents, one at least.
    public let count: Int
    /// The end that is kept.
    public let side: Side
  }

  /// The database that is asked.
  public let database: DatabaseID
  /// Where documents are looked for.
  public let source: Source
  /// The conditions, all of which must be met.
  public internal(set) var filters: [Filter] = []
  /// The orders that were asked for.
  public internal(set) var explicitOrders: [Order] = []
  /// The limit; none for all documents.
  public internal(set) var limit: Limit?
  /// Where the range starts; none for the first document.
  public internal(set) var start: Cursor?
  /// Where the range ends; none for the last document.
  public internal(set) var end: Cursor?

  /// All documents of a source, in the order of their paths.
  public init(_ source: Source, in database: DatabaseID) {
    self.source = source
    self.database = database
  }

  /// All orders: those that were asked for, then the fields of inequalities by their names, then the
  /// document itself, these in the direction of the last one that was asked for.
  public var orders: [Order] {
    var orders = explicitOrders
    let direction = orders.last?.direction ?? .ascending
    let compared = Filter.and(filters).fieldFilters.filter(\.operator.isInequality).map(\.field)
    for field in FieldMask(compared + [.documentID]).paths.sorted(
      by: DocumentQuery.isImplicitlyBefore)
    where !orders.contains(where: { $0.field == field }) {
      orders.append(Order(field, direction))
    }
    return orders
  }

  /// The document itself comes last.
  private static func isImplicitlyBefore(_ a: FieldPath, _ b: FieldPath) -> Bool {
    a.isDocumentID ? false : b.isDocumentID || a < b
  }

  /// What is listened to and stored for this query: see `DocumentTarget`.
  public var target: DocumentTarget {
    let isFlipped = limit?.side == .last
    return DocumentTarget(
      source: source, filter: Filter.and(filters).normalized,
      orders: isFlipped ? orders.map { Order($0.field, $0.direction.reversed) } : orders,
      limit: limit?.count, start: isFlipped ? end : start, end: isFlipped ? start : end)
  }

  /// The query as text: its UTF-8 bytes are the same for queries of one database that ask for the
  /// same, and for no others.
  public var canonical: String { target.canonical + "|lt:" + (limit?.side == .last ? "l" : "f") }
}

extension DocumentQuery.Source {
  /// Whether a document belongs to the source.
  package func contains(_ path: DocumentPath) -> Bool {
    switch self {
    case .collection(let collection): collection.contains(path)
    case .group(let id): path.collection.id.hasSameBytes(as: id)
    case .document(let document): path == document
    }
  }

  /// Whether both are the same place, ids compared by their bytes.
  public static func == (a: DocumentQuery.Source, b: DocumentQuery.Source) -> Bool {
    switch (a, b) {
    case (.collection(let x), .collection(let y)): return x == y
    case (.group(let x), .group(let y)): return x.hasSameBytes(as: y)
    case (.document(let x), .document(let y)): return x == y
    default: return false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .collection(let path): hasher.combine(path)
    case .group(let id): id.hashBytes(into: &hasher)
    case .document(let path): hasher.combine(path)
    }
  }
}
