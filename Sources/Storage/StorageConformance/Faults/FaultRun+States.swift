internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension FaultRun {
  /// Requires that reading succeeds and shows the newest state.
  ///
  /// - Parameter mayBeNext: whether the state after the failed commit is allowed too.
  func requireSame(_ when: String, mayBeNext: Bool = false) throws {
    guard let bad = try difference(from: model) else { return }
    if mayBeNext, let uncertain, try difference(from: uncertain) == nil { return }
    throw ConformanceFailure(try anomaly(), "\(bad) \(when)")
  }

  /// Whether the store holds a state.
  func holds(_ state: StorageModel) throws -> Bool { try difference(from: state) == nil }

  /// Adopts the state that was found at opening, which must be one of those allowed.
  func adopt() throws {
    try adoptTrees()
    var bad: String?
    for state in [model] + (uncertain.map { [$0] } ?? []) + afterKill.reversed() {
      guard let difference = try difference(from: state) else {
        (model, uncertain, afterKill) = (state, nil, [])
        return
      }
      if bad == nil { bad = difference }
    }
    throw ConformanceFailure(try anomaly(), "\(bad ?? "") after opening")
  }

  /// Adopts trees that may exist although their creation failed.
  private func adoptTrees() throws {
    let found = try reading { (view) throws(StoreError) in try view.trees() } ?? []
    for info in found where trees[info.name] == nil {
      guard [FaultProgram.treeName, DocumentChange.tree].contains(info.name) else { continue }
      trees[info.name] = try model.tree(named: info.name, order: info.order, id: info.id)
    }
  }

  /// How the store differs from a state.
  private func difference(from state: StorageModel) throws -> String? {
    let expected = ModelView(state)
    let found = try reading { (view) throws(StoreError) -> String? in
      let incidents = try view.incidents()
      if let first = incidents.first { return "\(first.kind) was reported (\(first.place))" }
      return try StateDifference(view, expected).first()
    }
    return found ?? nil
  }

  /// Reads, and reads again when the first read fails by the fault; nil when no store is open.
  private func reading<R>(_ body: (any StorageView) throws(StoreError) -> R) throws -> R? {
    guard let backend else { return nil }
    for _ in 0..<2 {
      let before = failures
      do throws(StoreError) {
        return try backend.readAll(body)
      } catch {
        try require(failures > before, .refused, "reading failed with \(error)")
        try requireCode(error, [.io], "reading")
      }
    }
    throw ConformanceFailure(.refused, "reading failed again, though one operation failed")
  }

  /// The anomaly of a state that is not the newest.
  private func anomaly() throws -> Anomaly {
    for state in earlier.reversed() where try holds(state) { return .lostAcknowledged }
    return .wrongData
  }
}
