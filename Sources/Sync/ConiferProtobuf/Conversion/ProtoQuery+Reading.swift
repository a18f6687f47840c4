#if GRPC
  package import ConiferDocument
  package import ConiferWire
  import SwiftProtobuf

  // Queries as a server reads them.
  extension StructuredQuery {
    /// The parts of a query.
    ///
    /// - Throws: `invalidArgument` for what is invalid, `unimplemented` for parts that are not known here, without
    ///   which the query would be another one.
    package init(_ query: ProtoStructuredQuery) throws(StatusError) {
      self.init()
      guard query.unknownFields.data.isEmpty else {
        throw StatusError(
          .unimplemented,
          "The query has a part that this server does not know, such as findNearest. Leave it out.")
      }
      collections = query.from.map(\.collectionID)
      isGroup = query.from.contains(where: \.allDescendants)
      if query.hasWhere { filter = try Filter(query.where) }
      orders = try query.orderBy.map { (order) throws(StatusError) in
        try DocumentQuery.Order(order)
      }
      if query.hasStartAt { start = try Cursor(query.startAt) }
      if query.hasEndAt { end = try Cursor(query.endAt) }
      if query.hasLimit { limit = try Self.number(query.limit.value, "limit") }
      offset = try Self.number(query.offset, "offset")
      fields = try query.select.fields.map { (field) throws(StatusError) in try FieldPath(field) }
    }

    private static func number(_ number: Int32, _ name: String) throws(StatusError) -> Int {
      guard number >= 0 else {
        throw StatusError(.invalidArgument, "The \(name) of a query is a number from 0.")
      }
      return Int(number)
    }
  }

  extension DocumentQuery.Order {
    fileprivate init(_ order: ProtoStructuredQuery.Order) throws(StatusError) {
      let field = try FieldPath(order.field)
      switch order.direction {
      case .unspecified, .ascending: self.init(field, .ascending)
      case .descending: self.init(field, .descending)
      case .UNRECOGNIZED(let number):
        throw StatusError(.invalidArgument, "Nobody knows the direction \(number) of an order.")
      }
    }
  }

  extension FieldPath {
    /// The field of a message.
    package init(_ field: ProtoStructuredQuery.FieldReference) throws(StatusError) {
      self = try StatusError.asInvalidArgument { () throws(ProtoError) in
        try checked { () throws(DocumentError) in try FieldPath(canonical: field.fieldPath) }
      }
    }
  }

  extension FieldMask {
    /// The fields of a message.
    package init(_ mask: ProtoDocumentMask) throws(StatusError) {
      var paths: [FieldPath] = []
      for text in mask.fieldPaths {
        paths.append(
          try StatusError.asInvalidArgument { () throws(ProtoError) in
            try checked { () throws(DocumentError) in try FieldPath(canonical: text) }
          })
      }
      self.init(paths)
    }
  }

  extension StructuredQuery.Cursor {
    fileprivate init(_ cursor: ProtoCursor) throws(StatusError) {
      self.init(
        try StatusError.asInvalidArgument { () throws(ProtoError) in
          try DocumentValue.values(cursor.values)
        }, isBefore: cursor.before)
    }
  }

  extension Filter {
    fileprivate init(_ filter: ProtoStructuredQuery.Filter) throws(StatusError) {
      switch filter.filterType {
      case .compositeFilter(let composite):
        let filters = try composite.filters.map { (filter) throws(StatusError) in
          try Filter(filter)
        }
        switch composite.op {
        case .and: self = .and(filters)
        case .or: self = .or(filters)
        default: throw Self.unknown
        }
      case .fieldFilter(let filter):
        guard let op = FieldFilter.Operator(filter.op) else { throw Self.unknown }
        let value = try StatusError.asInvalidArgument { () throws(ProtoError) in
          try DocumentValue(filter.value)
        }
        self = .field(try FieldPath(filter.field), op, value)
      case .unaryFilter(let filter):
        let field = try FieldPath(filter.field)
        switch filter.op {
        case .isNull: self = .field(field, .equal, .null)
        case .isNotNull: self = .field(field, .notEqual, .null)
        case .isNan: self = .field(field, .equal, .double(.nan))
        case .isNotNan: self = .field(field, .notEqual, .double(.nan))
        default: throw Self.unknown
        }
      case nil: throw Self.unknown
      }
    }

    private static let unknown = StatusError(
      .invalidArgument, "A filter is composite, of a field, or unary, with an operator.")
  }

  extension FieldFilter.Operator {
    fileprivate init?(_ op: ProtoStructuredQuery.FieldFilter.Operator) {
      switch op {
      case .equal: self = .equal
      case .notEqual: self = .notEqual
      case .lessThan: self = .lessThan
      case .lessThanOrEqual: self = .lessThanOrEqual
      case .greaterThan: self = .greaterThan
      case .greaterThanOrEqual: self = .greaterThanOrEqual
      case .in: self = .in
      case .notIn: self = .notIn
      case .arrayContains: self = .arrayContains
      case .arrayContainsAny: self = .arrayContainsAny
      default: return nil
      }
    }
  }

  extension StatusError {
    /// Has a message that is invalid refused as `invalidArgument`.
    package static func asInvalidArgument<R>(
      _ body: () throws(ProtoError) -> R
    ) throws(StatusError) -> R {
      do throws(ProtoError) { return try body() } catch {
        throw StatusError(.invalidArgument, error.message)
      }
    }
  }
#endif
