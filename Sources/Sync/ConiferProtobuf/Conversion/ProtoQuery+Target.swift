#if GRPC
  package import ConiferDocument
  import SwiftProtobuf

  extension ProtoStructuredQuery {
    /// The query of a target that looks for documents; nil when it is one document.
    package init?(_ target: DocumentTarget) {
      self.init()
      var selector = CollectionSelector()
      switch target.source {
      case .collection(let path): selector.collectionID = path.id
      case .group(let id):
        selector.collectionID = id
        selector.allDescendants = true
      case .document: return nil
      }
      from = [selector]
      if let filter = target.filter { `where` = Filter(filter) }
      orderBy = target.orders.map { Order($0) }
      if let count = target.limit { limit = Google_Protobuf_Int32Value(Int32(clamping: count)) }
      if let start = target.start { startAt = ProtoCursor(start, isBefore: start.isInclusive) }
      if let end = target.end { endAt = ProtoCursor(end, isBefore: !end.isInclusive) }
    }
  }

  extension DocumentTarget {
    /// What the collection that it looks in is below, as a server is told.
    package func parent(in database: DatabaseID) -> String {
      let root = "\(database)/documents"
      guard case .collection(let path) = source, let document = path.parent else { return root }
      return "\(root)/\(document)"
    }
  }

  extension ProtoStructuredAggregationQuery {
    /// Numbers of what a query finds; the one at a place is named by its number, such as `a0`. Nil when the query is of
    /// one document.
    ///
    /// Orders that the app did not ask for are left to the server, unless a start or an end has
    /// values for them, because servers have no index for aggregates with further fields in the
    /// order.
    package init?(_ query: DocumentQuery, _ aggregates: [Aggregate]) {
      let target = query.target
      guard var sent = ProtoStructuredQuery(target) else { return nil }
      self.init()
      let values = max(target.start?.values.count ?? 0, target.end?.values.count ?? 0)
      let orders = target.orders.prefix(max(query.explicitOrders.count, values))
      sent.orderBy = orders.map { .init($0) }
      structuredQuery = sent
      aggregations = aggregates.enumerated().map { place, aggregate in
        .with {
          $0.alias = Self.alias(of: place)
          switch aggregate {
          case .count: $0.count = .init()
          case .sum(let field): $0.sum.field = .init(field)
          case .average(let field): $0.avg.field = .init(field)
          }
        }
      }
    }

    /// What the result of the aggregate at a place is found by.
    package static func alias(of place: Int) -> String { "a\(place)" }
  }

  extension ProtoStructuredQuery.FieldReference {
    fileprivate init(_ path: FieldPath) {
      self.init()
      fieldPath = path.canonical
    }
  }

  extension ProtoStructuredQuery.Order {
    fileprivate init(_ order: DocumentQuery.Order) {
      self.init()
      field = .init(order.field)
      direction = order.direction == .ascending ? .ascending : .descending
    }
  }

  extension ProtoCursor {
    fileprivate init(_ cursor: DocumentQuery.Cursor, isBefore: Bool) {
      self.init()
      values = cursor.values.map { ProtoValue($0) }
      before = isBefore
    }
  }

  extension ProtoStructuredQuery.Filter {
    fileprivate init(_ filter: Filter) {
      self.init()
      switch filter {
      case .field(let filter): self.init(filter)
      case .and(let filters): compositeFilter = .init(.and, filters)
      case .or(let filters): compositeFilter = .init(.or, filters)
      }
    }

    /// Null and NaN are asked for by operators of their own.
    private init(_ filter: FieldFilter) {
      self.init()
      if let unary = ProtoStructuredQuery.UnaryFilter.Operator(filter) {
        unaryFilter.op = unary
        unaryFilter.field = .init(filter.field)
      } else {
        fieldFilter.op = .init(filter.operator)
        fieldFilter.field = .init(filter.field)
        fieldFilter.value = ProtoValue(filter.value)
      }
    }
  }

  extension ProtoStructuredQuery.CompositeFilter {
    fileprivate init(_ op: Operator, _ filters: [Filter]) {
      self.init()
      self.op = op
      self.filters = filters.map { .init($0) }
    }
  }

  extension ProtoStructuredQuery.UnaryFilter.Operator {
    fileprivate init?(_ filter: FieldFilter) {
      let isNaN = if case .double(let number) = filter.value { number.isNaN } else { false }
      switch filter.operator {
      case .equal where filter.value == .null: self = .isNull
      case .equal where isNaN: self = .isNan
      case .notEqual where filter.value == .null: self = .isNotNull
      case .notEqual where isNaN: self = .isNotNan
      default: return nil
      }
    }
  }

  extension ProtoStructuredQuery.FieldFilter.Operator {
    fileprivate init(_ op: FieldFilter.Operator) {
      self =
        switch op {
        case .equal: .equal
        case .notEqual: .notEqual
        case .lessThan: .lessThan
        case .lessThanOrEqual: .lessThanOrEqual
        case .greaterThan: .greaterThan
        case .greaterThanOrEqual: .greaterThanOrEqual
        case .in: .in
        case .notIn: .notIn
        case .arrayContains: .arrayContains
        case .arrayContainsAny: .arrayContainsAny
        }
    }
  }
#endif
