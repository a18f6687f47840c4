/// A condition that compares one field with a value.
public struct FieldFilter: Sendable, Hashable {
  /// The operator of a field filter, such as `==`, `in` or `array-contains`.
  public enum Operator: String, Sendable, Hashable, CaseIterable {
    /// Equal, as `DocumentValue.compare` says.
    case equal = "=="
    /// Not equal; the field exists and is not null.
    case notEqual = "!="
    /// A lesser value of the same type.
    case lessThan = "<"
    /// A lesser or equal value of the same type.
    case lessThanOrEqual = "<="
    /// A greater value of the same type.
    case greaterThan = ">"
    /// A greater or equal value of the same type.
    case greaterThanOrEqual = ">="
    /// Equal to one of the values.
    case `in` = "in"
    /// Equal to none of the values; the field exists and is not null.
    case notIn = "not-in"
    /// An array with an element that is equal.
    case arrayContains = "array-contains"
    /// An array with an element that is equal to one of the values.
    case arrayContainsAny = "array-contains-any"

    /// Whether results are sorted by the field unless the query says otherwise.
    public var isInequality: Bool {
      switch self {
      case .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notIn:
        return true
      case .equal, .in, .arrayContains, .arrayContainsAny: return false
      }
    }

    /// Whether the field is compared with each of several values.
    var takesList: Bool { self == .in || self == .notIn || self == .arrayContainsAny }
    /// Whether the field must be an array.
    var searchesArray: Bool { self == .arrayContains || self == .arrayContainsAny }
  }

  /// The field; `__name__` for the document itself, which is compared with references.
  public let field: FieldPath
  /// How it is compared.
  public let `operator`: Operator
  /// With what; an array of values for `in`, `notIn` and `arrayContainsAny`.
  public let value: DocumentValue

  /// A condition that is not checked: `DocumentQuery` does that.
  public init(_ field: FieldPath, _ operator: Operator, _ value: DocumentValue) {
    self.field = field
    self.operator = `operator`
    self.value = value
  }

  /// Whether a document that exists meets the condition.
  ///
  /// Equal is what `DocumentValue.compare` finds equal, for elements and lists too: 1 is in `[1.0]`,
  /// as on the server.
  public func matches(_ document: Document) -> Bool {
    if field.isDocumentID { return matches(document.path) }
    return document.fields?[field].map(matches) ?? false
  }

  /// Whether a value of the field, which is not `__name__`, meets the condition.
  package func matches(_ value: DocumentValue) -> Bool {
    switch `operator` {
    case .equal: return DocumentValue.compare(value, self.value) == 0
    case .notEqual: return value != .null && DocumentValue.compare(value, self.value) != 0
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      guard DocumentValue.areComparable(value, self.value) else { return false }
      return allows(DocumentValue.compare(value, self.value))
    case .in: return list.contains { DocumentValue.compare(value, $0) == 0 }
    case .notIn:
      return value != .null && !list.contains(.null)
        && !list.contains { DocumentValue.compare(value, $0) == 0 }
    case .arrayContains:
      return value.array?.contains { DocumentValue.compare($0, self.value) == 0 } ?? false
    case .arrayContainsAny:
      return value.array?.contains { element in
        list.contains { DocumentValue.compare(element, $0) == 0 }
      } ?? false
    }
  }

  /// The values of a list.
  var list: [DocumentValue] { value.array ?? [] }

  /// Whether a document's name meets the condition, which is on `__name__`.
  package func matches(_ path: DocumentPath) -> Bool {
    func order(_ value: DocumentValue) -> Int? {
      guard case .reference(let name) = value else { return nil }
      return DocumentPath.compare(path, name.path)
    }
    switch `operator` {
    case .in: return list.contains { order($0) == 0 }
    case .notIn: return !list.contains { order($0) == 0 }
    case .arrayContains, .arrayContainsAny: return false
    default: return order(value).map(allows) ?? false
    }
  }

  private func allows(_ order: Int) -> Bool {
    switch `operator` {
    case .equal: return order == 0
    case .notEqual: return order != 0
    case .lessThan: return order < 0
    case .lessThanOrEqual: return order <= 0
    case .greaterThan: return order > 0
    case .greaterThanOrEqual: return order >= 0
    case .in, .notIn, .arrayContains, .arrayContainsAny: return false
    }
  }
}
