/// A regular expression that matches in linear time. All possible states advance through the string
/// together (Thompson's construction), so no pattern and no string can make it slow.
///
/// It matches UTF-16 code units. `Docs/Rules.md` describes the syntax.
struct Pattern: Sendable {
  enum Instruction: Sendable {
    case unit(UInt16)
    case set(Int)
    case split(Int, Int)
    case jump(Int)
    case start
    case end
    case match
  }

  /// The most instructions of a pattern.
  static let largest = 5000

  let program: [Instruction]
  let sets: [UnitSet]
  /// Whether it can only match at the beginning of the string.
  let isAnchored: Bool

  /// A regular expression.
  ///
  /// - Parameters:
  ///   - text: the text between the slashes, in UTF-8.
  ///   - ignoresCase: whether the flag `i` is given.
  init(_ text: [UInt8], ignoresCase: Bool = false) throws(PatternError) {
    var parser = PatternParser(text, ignoresCase: ignoresCase)
    let tree = try parser.parse()
    guard tree.size(limit: Self.largest) <= Self.largest else {
      throw PatternError(
        message: "The regular expression is too large: its repeats take more than "
          + "\(Self.largest) states.", offset: 0)
    }
    var compiler = PatternCompiler()
    compiler.add(tree)
    compiler.emit(.match)
    program = compiler.program
    sets = compiler.sets
    isAnchored = tree.isAnchored
  }
}

/// Compiles a tree to a program.
private struct PatternCompiler {
  var program: [Pattern.Instruction] = []
  var sets: [UnitSet] = []
  private var indexes: [UnitSet: Int] = [:]

  mutating func emit(_ instruction: Pattern.Instruction) { program.append(instruction) }

  mutating func add(_ node: PatternNode) {
    switch node {
    case .set(let set): emit(instruction(set))
    case .start: emit(.start)
    case .end: emit(.end)
    case .sequence(let parts): for part in parts { add(part) }
    case .choice(let parts): addChoice(parts)
    case .repetition(let part, let least, let most):
      for _ in 0..<least { add(part) }
      if let most { addOptional(part, most - least) } else { addLoop(part) }
    }
  }

  private mutating func instruction(_ set: UnitSet) -> Pattern.Instruction {
    if let range = set.ranges.first, set.ranges.count == 1, range.count == 1 {
      return .unit(range.lowerBound)
    }
    if let index = indexes[set] { return .set(index) }
    indexes[set] = sets.count
    sets.append(set)
    return .set(sets.count - 1)
  }

  private mutating func addChoice(_ parts: [PatternNode]) {
    var jumps: [Int] = []
    for (index, part) in parts.enumerated() {
      if index == parts.count - 1 {
        add(part)
        break
      }
      let split = program.count
      emit(.split(split + 1, 0))
      add(part)
      jumps.append(program.count)
      emit(.jump(0))
      program[split] = .split(split + 1, program.count)
    }
    for jump in jumps { program[jump] = .jump(program.count) }
  }

  /// The part, repeated up to a number of times.
  private mutating func addOptional(_ part: PatternNode, _ count: Int) {
    var splits: [Int] = []
    for _ in 0..<count {
      splits.append(program.count)
      emit(.split(0, 0))
      add(part)
    }
    for split in splits { program[split] = .split(split + 1, program.count) }
  }

  /// The part, repeated any number of times.
  private mutating func addLoop(_ part: PatternNode) {
    let split = program.count
    emit(.split(0, 0))
    add(part)
    emit(.jump(split))
    program[split] = .split(split + 1, program.count)
  }
}
