/// Which operations of a program fail.
enum FaultChoice {
  /// The first few, and a number of others that the seed chooses.
  case sample(UInt64, Int)
  case all
  case one(Int)

  /// The number of first operations that fail in every sample: opening is short and matters most.
  static let first = 4

  /// The choice of `CONIFER_FAULTS` and `CONIFER_SEED`.
  init(sampling count: Int) throws {
    switch Variable.text("CONIFER_FAULTS") {
    case "all": self = .all
    case let text?:
      let isSample = text.hasPrefix("sample ")
      guard let number = Int(isSample ? text.dropFirst("sample ".count) : text[...]),
        number >= (isSample ? 1 : 0)
      else {
        throw Variable.refusal(
          "CONIFER_FAULTS", text, "\"all\", \"sample\" and how many, or an operation's number")
      }
      self = isSample ? .sample(try Variable.seed() ?? 1, number) : .one(number)
    case nil: self = .sample(try Variable.seed() ?? 1, count)
    }
  }

  /// The numbers of the operations that fail, in order; none where the one that is asked for is not among them.
  ///
  /// - Parameters:
  ///   - total: how many operations the program has on a sound disk.
  ///   - first: how many of the first ones a sample has.
  func numbers(of total: Int, first: Int = FaultChoice.first) -> [Int] {
    switch self {
    case .one(let number): return number < total ? [number] : []
    case .all: return Array(0..<total)
    case .sample(let seed, let count):
      var random = SeededRandom(seed: seed)
      var chosen = Set(0..<min(first, count, total))
      while chosen.count < min(count, total) {
        chosen.insert(Int.random(in: 0..<total, using: &random))
      }
      return chosen.sorted()
    }
  }

  /// Counts the operations that failed, and requires that there were some.
  static func requireReached(_ faults: Int) throws {
    try require(faults > 0, "none of the operations that were to fail was reached")
    CheckRecord.current?.count("injected faults", faults)
  }
}
