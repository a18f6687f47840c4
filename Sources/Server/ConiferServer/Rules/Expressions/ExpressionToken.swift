/// A token of an expression.
enum ExpressionToken: Equatable {
  case end
  case number(Double)
  /// A string's bytes, since Swift's strings treat different bytes as equal.
  case string([UInt8])
  /// A name: of a variable, a member, or `true`, `false`, `null`.
  case name(String)
  /// A name that begins with `$`.
  case variable(String)
  case symbol(Symbol)

  enum Symbol: String {
    case open = "("
    case close = ")"
    case openBracket = "["
    case closeBracket = "]"
    case comma = ","
    case dot = "."
    case question = "?"
    case colon = ":"
    case not = "!"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case equal = "=="
    case identical = "==="
    case unequal = "!="
    case notIdentical = "!=="
    case and = "&&"
    case or = "||"

    /// The precedence of a binary operator; nil for other symbols.
    var precedence: Int? {
      switch self {
      case .or: 1
      case .and: 2
      case .equal, .identical, .unequal, .notIdentical: 3
      case .less, .lessOrEqual, .greater, .greaterOrEqual: 4
      case .plus, .minus: 5
      case .star, .slash, .percent: 6
      default: nil
      }
    }
  }

  /// The token in words.
  var words: String {
    switch self {
    case .end: "end of the expression"
    case .number: "number"
    case .string: "string"
    case .name(let name), .variable(let name): "'\(name)'"
    case .symbol(let symbol): "'\(symbol.rawValue)'"
    }
  }
}
