/// Whether the storage of an engine is suspended, and the steps that wait until it is resumed.
///
/// It has no effects.
package struct Suspension<Step: Sendable>: Sendable {
  private enum State {
    case open
    /// The steps wait, in order.
    case suspended([Step])
  }

  private var state = State.open

  package init() {}

  /// Whether the storage is suspended.
  package var isSuspended: Bool { if case .suspended = state { true } else { false } }

  /// The storage is suspended: steps wait from now on.
  package mutating func begin() { if case .open = state { state = .suspended([]) } }

  /// The storage is open again, or closed; gives the steps that waited, in order.
  package mutating func end() -> [Step] {
    guard case .suspended(let steps) = state else { return [] }
    state = .open
    return steps
  }

  /// Keeps a step while the storage is suspended.
  ///
  /// - Returns: whether it waits; otherwise it is to be done now.
  package mutating func holdBack(_ step: Step) -> Bool {
    guard case .suspended(var steps) = state else { return false }
    // Taken out meanwhile, so that what waits already is not copied.
    state = .suspended([])
    steps.append(step)
    state = .suspended(steps)
    return true
  }
}
