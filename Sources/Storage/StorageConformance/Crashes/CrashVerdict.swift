internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Finds out which of its states a backend is in after a crash, and whether it may be in that one.
struct CrashVerdict: Sendable {
  /// The states that the store passed through, in order.
  let states: [CrashState]
  /// The newest one that it acknowledged at a durability that the crash leaves.
  let acknowledged: Int
  /// The newest one that it was asked for.
  let issued: Int

  /// The number of the state that a backend is in.
  ///
  /// - Throws: ``ConformanceFailure`` when it is in none, or in one that loses too much.
  func state(of backend: any StorageBackend) throws -> Int {
    let found = try backend.read { (view) throws(StoreError) in
      let step = try Ledger.step(view)
      // Trees are made in commits that cannot note a step.
      let candidates = states.indices.filter { states[$0].step == step }
      var difference: String?
      for index in candidates.reversed() {
        let bad = try StateDifference(view, ModelView(states[index].model)).first()
        if bad == nil {
          return (
            step, Optional(index), Optional<String>.none, try view.incidents()
          )
        }
        if difference == nil || index <= issued { difference = bad }
      }
      return (step, nil, difference, try view.incidents())
    }
    let (step, index, difference, incidents) = found
    let expected = "states \(acknowledged) to \(issued) of \(states.count - 1) may be there"
    guard let index else {
      let bounds = states[acknowledged].step...max(states[acknowledged].step, states[issued].step)
      if step < bounds.lowerBound {
        throw ConformanceFailure(
          .lostAcknowledged, "step \(step) is the newest, \(bounds.lowerBound) was acknowledged")
      }
      if step > bounds.upperBound {
        throw ConformanceFailure(
          .phantom, "step \(step) is there, \(bounds.upperBound) is the newest that was asked for")
      }
      throw try failure(backend, step, difference ?? "no state has this step")
    }
    try require(
      index >= acknowledged, .lostAcknowledged,
      "it is in state \(index), after step \(step); \(expected)")
    try require(
      index <= issued, .phantom, "it is in state \(index), after step \(step); \(expected)")
    try require(
      incidents.isEmpty, .silentLoss, "it tells of damage, where none was: \(incidents)")
    try backend.requireExactUsage()
    return index
  }
}
