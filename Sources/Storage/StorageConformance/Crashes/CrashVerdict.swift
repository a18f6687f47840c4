internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Determines in which of the known states a backend is after a crash, and whether it may be in
/// that state.
struct CrashVerdict: Sendable {
  /// The states that the store passed through, in order.
  let states: [CrashState]
  /// The newest state that was acknowledged at a durability that survives the crash.
  let acknowledged: Int
  /// The newest state that was requested.
  let issued: Int

  /// The number of the state that a backend is in.
  ///
  /// - Throws: ``ConformanceFailure`` when it is in none, or in one that loses too much.
  func state(of backend: any StorageBackend) throws -> Int {
    let found = try backend.readAll { (view) throws(StoreError) in
      let step = try StepLog.step(view)
      // Trees are created in commits that cannot store a step.
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
      incidents.isEmpty, .silentLoss, "it reports damage where there was none: \(incidents)")
    try backend.requireExactUsage()
    try backend.requireSound()
    return index
  }
}
