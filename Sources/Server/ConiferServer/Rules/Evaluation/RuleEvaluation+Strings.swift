// The methods of strings, all in linear time.
extension RuleEvaluation {
  /// The UTF-16 code units of a string.
  mutating func length(_ receiver: RuleExpression) throws(RuleFailure) -> Int {
    let text = try string(receiver)
    try charge(text)
    return text.utf16.count
  }

  mutating func matches(
    _ receiver: RuleExpression, _ pattern: Pattern
  ) throws(RuleFailure) -> Bool {
    let text = try string(receiver)
    // Sixteen steps of the matcher count as one.
    var budget = steps > Int.max >> 4 ? Int.max : steps << 4
    let (whole, found) = (budget, pattern.matches(text, steps: &budget))
    try charge((whole - budget + 15) >> 4)
    guard let found else { throw .exhausted }
    return found
  }

  mutating func call(
    _ method: StringMethod, _ receiver: RuleExpression, _ arguments: [RuleExpression]
  ) throws(RuleFailure) -> RuleValue {
    let text = try string(receiver)
    try charge(text)
    var values: [String] = []
    for argument in arguments {
      let value = try string(argument)
      try charge(value)
      values.append(value)
    }
    switch (method, values.first, values.last) {
    case (.toLowerCase, _, _): return .string(text.lowercased())
    case (.toUpperCase, _, _): return .string(text.uppercased())
    case (.beginsWith, let start?, _): return .bool(text.utf8.starts(with: start.utf8))
    case (.endsWith, let end?, _):
      return .bool(text.utf8.reversed().starts(with: end.utf8.reversed()))
    case (.contains, let part?, _):
      return .bool(Substrings(part).first(in: Array(text.utf8)) != nil)
    case (.replace, let part?, let new?): return .string(try replace(part, by: new, in: text))
    default: return .null
    }
  }

  /// Replaces all non-overlapping occurrences; an empty part has none.
  private mutating func replace(
    _ part: String, by new: String, in text: String
  ) throws(RuleFailure) -> String {
    if part.isEmpty { return text }
    let (bytes, part, new) = (Array(text.utf8), Substrings(part), Array(new.utf8))
    var result: [UInt8] = []
    var from = 0
    while let found = part.first(in: bytes, from: from) {
      try charge(1 + new.count >> 6)
      result.append(contentsOf: bytes[from..<found])
      result.append(contentsOf: new)
      from = found + part.count
      guard result.count <= RulesLimits.longestString else {
        throw .type("a string becomes too long")
      }
    }
    result.append(contentsOf: bytes[from...])
    guard result.count <= RulesLimits.longestString else {
      throw .type("a string becomes too long")
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// Finds a string in others in linear time (Knuth, Morris and Pratt).
struct Substrings {
  private let part: [UInt8]
  /// For each prefix the length of its longest proper prefix that ends it too.
  private let borders: [Int]

  init(_ text: String) {
    let part = Array(text.utf8)
    var borders = [Int](repeating: 0, count: part.count)
    var length = 0
    for index in part.indices.dropFirst() {
      while length > 0, part[index] != part[length] { length = borders[length - 1] }
      if part[index] == part[length] { length += 1 }
      borders[index] = length
    }
    self.part = part
    self.borders = borders
  }

  var count: Int { part.count }

  /// The first position of the part in some bytes.
  func first(in bytes: [UInt8], from start: Int = 0) -> Int? {
    if part.isEmpty { return start }
    var length = 0
    for index in start..<bytes.count {
      while length > 0, bytes[index] != part[length] { length = borders[length - 1] }
      if bytes[index] == part[length] { length += 1 }
      if length == part.count { return index + 1 - length }
    }
    return nil
  }
}
