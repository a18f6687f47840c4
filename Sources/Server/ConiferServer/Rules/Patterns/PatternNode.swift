/// A regular expression as a tree.
indirect enum PatternNode: Sendable {
  /// One unit of a set.
  case set(UnitSet)
  /// The beginning of the string.
  case start
  /// The end of the string.
  case end
  /// One after the other; an empty sequence matches the empty string.
  case sequence([PatternNode])
  /// One of them.
  case choice([PatternNode])
  /// A minimum and a maximum number of repetitions; nil for no maximum.
  case repetition(PatternNode, Int, Int?)

  /// The number of instructions, or `limit` + 1 when there are more.
  func size(limit: Int) -> Int {
    switch self {
    case .set, .start, .end: return 1
    case .sequence(let parts):
      return parts.reduce(0) { $0 > limit ? $0 : $0 + $1.size(limit: limit) }
    case .choice(let parts):
      return parts.reduce(0) { $0 > limit ? $0 : $0 + 2 + $1.size(limit: limit) }
    case .repetition(let part, let least, let most):
      let size = min(part.size(limit: limit), limit + 1)
      let (copies, extra) = (max(most ?? least + 1, 1), 2)
      let (product, overflow) = (size + extra).multipliedReportingOverflow(by: copies)
      return overflow ? limit + 1 : min(product, limit + 1)
    }
  }

  /// Whether it can only match at the beginning of the string.
  var isAnchored: Bool {
    switch self {
    case .start: true
    case .sequence(let parts): parts.first?.isAnchored == true
    case .choice(let parts): parts.allSatisfy(\.isAnchored)
    case .repetition(let part, let least, _): least > 0 && part.isAnchored
    case .set, .end: false
    }
  }
}

/// Why a text is not a valid regular expression.
struct PatternError: Error {
  let message: String
  /// The offset in the pattern's bytes.
  let offset: Int
}
