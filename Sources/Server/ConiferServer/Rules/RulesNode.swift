import ConiferQuery
import ConiferTree

/// The rules of one place and of the places below.
final class RulesNode: Sendable {
  let read: Rule?
  let write: Rule?
  let validate: Rule?
  /// The indexes that the `.indexOn` of this place declares.
  let indexes: [QueryIndex]
  /// The named places below.
  let children: [Key: RulesNode]
  /// The place below that applies to all keys without a named place.
  let wildcard: RulesNode?
  /// The named places below that have a `.validate` at or below them, in key order.
  let validating: [(key: Key, rules: RulesNode)]

  init(
    read: Rule? = nil, write: Rule? = nil, validate: Rule? = nil, indexes: [QueryIndex] = [],
    children: [Key: RulesNode] = [:], wildcard: RulesNode? = nil
  ) {
    self.read = read
    self.write = write
    self.validate = validate
    self.indexes = indexes
    self.children = children
    self.wildcard = wildcard
    validating = children.filter(\.value.validates).sorted { $0.key < $1.key }
      .map { (key: $0.key, rules: $0.value) }
  }

  /// Whether a place below has a `.validate`.
  var validatesBelow: Bool { wildcard?.validates == true || !validating.isEmpty }

  /// Whether this place or one below has a `.validate`.
  var validates: Bool { validate != nil || validatesBelow }

  /// The place of a child: the named one, or else the wildcard.
  func child(_ key: Key) -> RulesNode? { children[key] ?? wildcard }
}

/// One rule.
struct Rule: Sendable {
  let place: RulePlace
  let expression: RuleExpression
}
