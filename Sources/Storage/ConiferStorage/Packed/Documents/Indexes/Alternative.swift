import ConiferDocument
import ConiferKeyValue

/// Conditions that must all hold, grouped by how an index can serve them.
struct Alternative {
  /// What a field must be equal to, or an element of it.
  struct Equality: Hashable {
    let field: FieldPath
    let isElement: Bool
  }

  /// The values of equalities, the first one of a field where there are several.
  private(set) var equalities: [Equality: DocumentValue] = [:]
  /// By field: the values that all its conditions allow.
  private(set) var ranges: [FieldPath: [ValueRange]] = [:]
  /// All fields that are compared: documents that lack one do not match.
  private(set) var fields: Set<FieldPath> = []
  /// The documents that `__name__` must be equal to.
  private(set) var keys: [DocumentPath] = []
  /// The conditions on `__name__`.
  private(set) var nameFilters: [FieldFilter] = []
  /// The least and the greatest name that are allowed.
  private(set) var names: (low: DocumentPath?, high: DocumentPath?) = (nil, nil)

  init(_ filters: [FieldFilter]) {
    for filter in filters {
      if filter.field.isDocumentID {
        addName(filter)
      } else {
        fields.insert(filter.field)
        ranges[filter.field] = ValueRange.intersection(
          ranges[filter.field] ?? [.all], filter.ranges)
        switch filter.operator {
        case .equal: add(filter, isElement: false)
        case .arrayContains: add(filter, isElement: true)
        default: break
        }
      }
    }
  }

  /// Whether no value could meet the conditions.
  var isImpossible: Bool {
    ranges.values.contains(where: \.isEmpty) || keys.contains { $0 != keys[0] }
  }

  func value(_ field: FieldPath, isElement: Bool = false) -> DocumentValue? {
    equalities[Equality(field: field, isElement: isElement)]
  }

  /// Whether a field is compared with more than equality.
  func isRanged(_ field: FieldPath) -> Bool { ranges[field].map { $0 != [.all] } ?? false }

  private mutating func add(_ filter: FieldFilter, isElement: Bool) {
    let equality = Equality(field: filter.field, isElement: isElement)
    if equalities[equality] == nil { equalities[equality] = filter.value }
  }

  private mutating func addName(_ filter: FieldFilter) {
    nameFilters.append(filter)
    guard case .reference(let name) = filter.value else { return }
    let path = name.path
    switch filter.operator {
    case .equal: keys.append(path)
    case .greaterThan, .greaterThanOrEqual: names.low = names.low.map { max($0, path) } ?? path
    case .lessThan, .lessThanOrEqual: names.high = names.high.map { min($0, path) } ?? path
    default: break
    }
  }
}
