public import Foundation

extension OperationCounts {
  /// How much more than its limit a count may be before that fails: nothing is timed, but hash tables
  /// and logs do not always grow at the same call.
  static let slack = 1.05

  /// One count that is not as it was.
  public struct Difference: Sendable, CustomStringConvertible {
    /// The candidate and what was counted.
    public let candidate: String, name: String
    /// The limit and the count; nil when it is new or missing.
    public let limit: Double?, found: Double?
    /// Whether it is more than may be.
    public let isExceeded: Bool

    /// The difference in words.
    public var description: String {
      let (was, now) = (limit.map { Number.short($0) }, found.map { Number.short($0) })
      switch (was, now) {
      case (nil, let now): return "\(candidate) \(name): \(now ?? "") has no limit yet"
      case (let was, nil): return "\(candidate) \(name): was \(was ?? ""), is not counted any more"
      case (let was?, let now?):
        return "\(candidate) \(name): \(now), \(isExceeded ? "more than" : "well below") \(was)"
      }
    }
  }

  /// Counts that exceed limits, and counts that are so much better that the limits should be
  /// lowered.
  public func differences(from limits: OperationCounts) -> [Difference] {
    var result: [Difference] = []
    for candidate in Set(candidates.keys).union(limits.candidates.keys).sorted() {
      let (own, known) = (candidates[candidate] ?? [:], limits.candidates[candidate] ?? [:])
      // A candidate that did not take part is ignored.
      guard !own.isEmpty else { continue }
      for name in Set(own.keys).union(known.keys).sorted() {
        let (found, limit) = (own[name], known[name])
        let isExceeded =
          if let found, let limit { found > limit * Self.slack + 0.02 } else { true }
        let isLower = if let found, let limit { found < limit * 0.8 - 0.02 } else { false }
        guard isExceeded || isLower else { continue }
        result.append(
          Difference(
            candidate: candidate, name: name, limit: limit, found: found, isExceeded: isExceeded))
      }
    }
    return result
  }

  /// Reads limits that were kept.
  ///
  /// - Throws: when the file is no such thing.
  public init(contentsOf path: String) throws {
    self = try JSONDecoder().decode(
      OperationCounts.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// The counts as JSON, rounded to three places, a line each.
  public var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
      return try encoder.encode(
        OperationCounts(
          candidates.mapValues { counts in counts.mapValues { ($0 * 1000).rounded() / 1000 } }))
    }
  }
}
