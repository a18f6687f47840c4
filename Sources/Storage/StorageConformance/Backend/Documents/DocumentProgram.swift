internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

/// A random program of commits on a tree of documents, beside the model.
///
/// Each step has a seed of its own, so that a program stays one when steps are taken out.
struct DocumentProgram {
  enum Kind: CaseIterable {
    case put
    case forget
    case enqueue
    case answer
    case reject
    case queueAgain
    case replace
    case purge
    case match
    case query
    case index
    case reopen
    case tidy
  }

  struct Step: CustomStringConvertible {
    let kind: Kind
    let seed: UInt64

    var description: String { "\(kind)(\(seed))" }
  }

  var steps: [Step] = []

  init(seed: UInt64, length: Int) {
    var random = SeededRandom(seed: seed)
    // What changes much comes rarely.
    let kinds: [Kind] =
      Array(repeating: [.put, .enqueue], count: 8).flatMap(\.self)
      + Array(repeating: [.answer, .query, .index], count: 4).flatMap(\.self) + Kind.allCases
    for _ in 0..<length { steps.append(Step(kind: random.pick(kinds), seed: random.next())) }
  }

  /// Runs the program in a new directory.
  ///
  /// - Throws: `ConformanceFailure` with the first difference.
  func run(_ factory: BackendFactory) async throws {
    let fixture = try BackendFixture(factory)
    do {
      let pair = try await DocumentPair(fixture)
      for (number, step) in steps.enumerated() {
        do {
          try await pair.run(step)
          if number % 10 == 9 { try pair.requireSame() }
        } catch {
          throw ConformanceFailure(
            ConformanceFailure.anomaly(of: error), "step \(number + 1), \(step): \(error)")
        }
      }
      try await pair.reopen()
      try pair.requireSame()
      try pair.requireSound()
      await fixture.finish()
    } catch {
      await fixture.finish()
      throw error
    }
  }

  /// The shortest program found that still fails, and why it does.
  func shrunk(_ factory: BackendFactory) async -> (DocumentProgram, String) {
    var shortest = self
    var reason = ""
    var size = max(1, steps.count / 2)
    while size > 0 {
      var at = 0
      while at < shortest.steps.count {
        var candidate = shortest
        candidate.steps.removeSubrange(at..<min(at + size, candidate.steps.count))
        do {
          try await candidate.run(factory)
          at += size
        } catch {
          shortest = candidate
          reason = "\(error)"
        }
      }
      size /= 2
    }
    return (shortest, reason)
  }
}
