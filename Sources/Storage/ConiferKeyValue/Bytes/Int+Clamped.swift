extension Int {
  /// Adds a number that data gave, and stays at the end of the range instead of leaving it.
  package mutating func add(_ other: Int) {
    let (sum, isOver) = addingReportingOverflow(other)
    self = isOver ? (other > 0 ? .max : .min) : sum
  }

  /// The sum of numbers that data gave.
  package static func sum(_ numbers: Int...) -> Int {
    var sum = 0
    for number in numbers { sum.add(number) }
    return sum
  }
}
