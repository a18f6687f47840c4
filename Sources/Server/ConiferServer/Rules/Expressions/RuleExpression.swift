/// The parsed and checked condition of a rule.
indirect enum RuleExpression: Sendable {
  /// null, a boolean, a number or a string.
  case constant(RuleValue)
  /// The user.
  case auth
  /// The server's time.
  case now
  /// The key that matched a wildcard, by its level from the root.
  case key(level: Int)
  /// `root`, `data` or `newData`.
  case snapshot(SnapshotName)
  /// A part of `query`.
  case query(QueryField)

  /// A member of `auth` or of its members.
  case member(RuleExpression, name: String)
  /// A member of `auth` or of its members, by a computed name.
  case element(RuleExpression, RuleExpression)

  case not(RuleExpression)
  case negated(RuleExpression)
  case arithmetic(ArithmeticOperator, RuleExpression, RuleExpression)
  case equal(RuleExpression, RuleExpression, negated: Bool)
  case comparison(ComparisonOperator, RuleExpression, RuleExpression)
  /// All are true; evaluation stops at the first false one.
  case all([RuleExpression])
  /// One is true; evaluation stops at the first true one.
  case any([RuleExpression])
  case condition(RuleExpression, RuleExpression, else: RuleExpression)

  case length(RuleExpression)
  case ofSnapshot(SnapshotMethod, RuleExpression, [RuleExpression])
  case ofString(StringMethod, RuleExpression, [RuleExpression])
  case matches(RuleExpression, Pattern)
}

/// The variables that are places of data.
enum SnapshotName: String, Sendable {
  /// All data, before a write.
  case root
  /// The data at the rule's place, before a write.
  case data
  /// The data at the rule's place as a write would leave it.
  case newData
}

/// The parts of `query`.
enum QueryField: String, Sendable {
  case orderByKey, orderByPriority, orderByValue, orderByChild
  case startAt, endAt, equalTo, limitToFirst, limitToLast

  var type: ExpressionType {
    switch self {
    case .orderByKey, .orderByPriority, .orderByValue: .boolean
    case .orderByChild, .startAt, .endAt, .equalTo, .limitToFirst, .limitToLast: .value
    }
  }
}

enum ArithmeticOperator: String, Sendable {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case remainder = "%"
}

enum ComparisonOperator: String, Sendable {
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
}

/// The methods of snapshots.
enum SnapshotMethod: String, Sendable {
  case val, child, parent, hasChild, hasChildren, exists, getPriority
  case isNumber, isString, isBoolean

  var arguments: Int { self == .child || self == .hasChild ? 1 : 0 }

  var type: ExpressionType {
    switch self {
    case .val, .getPriority: .value
    case .child, .parent: .snapshot
    case .hasChild, .hasChildren, .exists, .isNumber, .isString, .isBoolean: .boolean
    }
  }
}

/// The methods of strings, except `matches`, whose argument is not a value.
enum StringMethod: String, Sendable {
  case contains, beginsWith, endsWith, replace, toLowerCase, toUpperCase

  var arguments: Int {
    switch self {
    case .contains, .beginsWith, .endsWith: 1
    case .replace: 2
    case .toLowerCase, .toUpperCase: 0
    }
  }

  var type: ExpressionType {
    switch self {
    case .contains, .beginsWith, .endsWith: .boolean
    case .replace, .toLowerCase, .toUpperCase: .string
    }
  }
}

/// The type of a value as far as it is known before the evaluation.
enum ExpressionType: String, Sendable {
  case null
  case boolean
  case number
  case string
  /// A string, a number, a boolean, null, or data with children: the result of `val()`.
  case value
  /// `auth` or a member of it: a value of any type, or one with members.
  case member
  case snapshot
  case query

  /// Whether the type is only known when the rule is evaluated.
  var isOpen: Bool { self == .value || self == .member }
  /// Whether a value may be of a type.
  func mayBe(_ type: ExpressionType) -> Bool { self == type || isOpen }
  /// Whether it can be compared by `==`.
  var isValue: Bool { self != .snapshot && self != .query }
}

/// Why a text is not a valid expression.
struct ExpressionError: Error {
  let message: String
  /// The offset in the expression's bytes.
  let offset: Int
}
