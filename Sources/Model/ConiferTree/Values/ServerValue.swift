/// A placeholder that the server replaces when it receives the write, such as a timestamp or an
/// increment.
public enum ServerValue: Hashable, Sendable {
  /// The server's time in milliseconds since 1970: `{".sv":"timestamp"}`.
  case timestamp
  /// The number at the place plus this one: `{".sv":{"increment":n}}`.
  indirect case increment(Leaf)
  /// A placeholder this version does not know: `{".sv":name}`.
  case other(name: String)

  /// The guess a client makes until the server answers.
  ///
  /// Two 64-bit integers stay one unless the sum overflows; otherwise the sum is a double, at most the
  /// largest finite one. A base
  /// that is no number counts as nothing, so the result is the increment itself.
  ///
  /// - Parameters:
  ///   - base: the leaf at the place before the write, if there is one.
  ///   - now: the server's time in milliseconds since 1970.
  /// - Returns: the value to show; an unknown placeholder stays itself.
  public func resolved(over base: Leaf?, now: Int64) -> Leaf {
    switch self {
    case .timestamp: return .integer(now)
    case .other: return .serverValue(self)
    case .increment(let delta):
      guard let base, let old = base.number, let change = delta.number else { return delta }
      if case .integer(let a) = base, case .integer(let b) = delta {
        let (sum, overflow) = a.addingReportingOverflow(b)
        if !overflow { return .integer(sum) }
      }
      // A sum that JSON cannot represent becomes the largest number.
      let largest = Double.greatestFiniteMagnitude
      return .double(max(-largest, min(largest, old + change)))
    }
  }

  /// Orders two placeholders: negative, zero or positive.
  static func compare(_ a: ServerValue, _ b: ServerValue) -> Int {
    switch (a, b) {
    case (.increment(let x), .increment(let y)): return Leaf.compare(x, y)
    case (.other(let x), .other(let y)): return x.compareUnits(y)
    default: return a.rank - b.rank
    }
  }

  private var rank: Int {
    switch self {
    case .timestamp: return 0
    case .increment: return 1
    case .other: return 2
    }
  }

  /// Whether the UTF-8 bytes or, as doubles, the numbers are the same.
  public static func == (a: ServerValue, b: ServerValue) -> Bool { compare(a, b) == 0 }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .timestamp: break
    case .increment(let leaf): hasher.combine(leaf)
    case .other(let name): name.hashUnits(into: &hasher)
    }
  }
}
