extension Int {
  /// Adds a number that was read from data; the sum is clamped instead of overflowing.
  package mutating func add(_ other: Int) {
    let (sum, isOver) = addingReportingOverflow(other)
    self = isOver ? (other > 0 ? .max : .min) : sum
  }

  /// The clamped sum of numbers that were read from data.
  package static func sum(_ numbers: Int...) -> Int {
    var sum = 0
    for number in numbers { sum.add(number) }
    return sum
  }
}
