extension Pattern {
  /// Whether the pattern matches anywhere in a string.
  ///
  /// - Parameters:
  ///   - text: the string.
  ///   - steps: the number of instructions that may be executed; it is reduced by those that were.
  ///     Each unit of the string executes each instruction at most once.
  /// - Returns: nil when the steps run out.
  func matches(_ text: String, steps: inout Int) -> Bool? {
    var states = PatternStates(self)
    var units = text.utf16.makeIterator()
    var unit = units.next()
    var isFirst = true
    while true {
      if isFirst || !isAnchored { states.add(0, isFirst: isFirst, isLast: unit == nil) }
      steps -= states.takeSteps()
      if steps < 0 { return nil }
      if states.isMatched { return true }
      guard let current = unit, !(isAnchored && states.isEmpty) else { return false }
      unit = units.next()
      isFirst = false
      states.advance(over: current, isLast: unit == nil)
    }
  }
}

/// The set of instructions that are waiting for the next unit.
private struct PatternStates {
  private let program: [Pattern.Instruction]
  private let sets: [UnitSet]
  /// The instructions that wait for a unit.
  private var waiting: [Int] = []
  private var next: [Int] = []
  /// The round in which each instruction was last reached.
  private var rounds: [Int]
  private var round = 1
  private var stack: [Int] = []
  private var steps = 0
  private(set) var isMatched = false

  init(_ pattern: Pattern) {
    program = pattern.program
    sets = pattern.sets
    rounds = [Int](repeating: 0, count: pattern.program.count)
  }

  var isEmpty: Bool { waiting.isEmpty }

  mutating func takeSteps() -> Int {
    defer { steps = 0 }
    return steps
  }

  /// Adds an instruction, and all that follow it without consuming a unit.
  mutating func add(_ instruction: Int, isFirst: Bool, isLast: Bool) {
    stack.append(instruction)
    while let index = stack.popLast() {
      if rounds[index] == round { continue }
      rounds[index] = round
      steps += 1
      switch program[index] {
      case .unit, .set: waiting.append(index)
      case .jump(let target): stack.append(target)
      case .split(let a, let b):
        stack.append(b)
        stack.append(a)
      case .start: if isFirst { stack.append(index + 1) }
      case .end: if isLast { stack.append(index + 1) }
      case .match: isMatched = true
      }
    }
  }

  /// Consumes a unit.
  mutating func advance(over unit: UInt16, isLast: Bool) {
    swap(&waiting, &next)
    waiting.removeAll(keepingCapacity: true)
    round += 1
    for index in next {
      let isTaken =
        switch program[index] {
        case .unit(let wanted): wanted == unit
        case .set(let set): sets[set].contains(unit)
        default: false
        }
      if isTaken { add(index + 1, isFirst: false, isLast: isLast) }
    }
  }
}
