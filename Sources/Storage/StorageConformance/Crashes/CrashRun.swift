internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Runs a ``CrashProgram`` on a backend and collects the expected states.
final class CrashRun {
  let program: CrashProgram
  private let open: () throws -> any StorageBackend
  /// Called with a state's number before the backend is asked for it, and when the backend has
  /// acknowledged it and all before it at a durability.
  private let issue: (Int) -> Void
  private let acknowledge: (Int, Durability) -> Void

  private(set) var backend: any StorageBackend
  private(set) var states: [CrashState]
  private var ledger: TreeID
  private var trees: [TreeID] = []

  /// The newest commit, and its state's number.
  private var newest: (commit: CommitID, state: Int)?

  private var model: StorageModel { states.last?.model ?? StorageModel() }
  private var step: Int { states.last?.step ?? 0 }

  /// Opens the backend and makes the program's trees where they are missing.
  ///
  /// - Parameter states: those that the store has passed through; the last one is its present
  ///   state.
  init(
    _ program: CrashProgram, after states: [CrashState] = [CrashState(model: .init(), step: 0)],
    open: @escaping () throws -> any StorageBackend,
    issue: @escaping (Int) -> Void = { _ in },
    acknowledge: @escaping (Int, Durability) -> Void = { _, _ in }
  ) async throws {
    self.program = program
    self.states = states
    self.open = open
    self.issue = issue
    self.acknowledge = acknowledge
    backend = try open()
    ledger = TreeID(rawValue: 0)
    ledger = try await tree(StepLog.tree, .realtimeDatabase)
    for (name, order) in program.trees { trees.append(try await tree(name, order)) }
  }

  /// Creates a tree if it is missing, in a commit of its own.
  private func tree(_ name: String, _ order: KeyOrder) async throws -> TreeID {
    let known = model.trees.values.first { $0.info.name == name }
    let before = model
    if known == nil {
      var next = before
      _ = try next.tree(named: name, order: order)
      enter(next, step)
    }
    let given = try await backend.tree(named: name, order: order)
    if let known {
      try require(given == known.info.id, "the tree \(name) changed its number")
    } else {
      // Only the backend knows the number of a new tree.
      var next = before
      _ = try next.tree(named: name, order: order, id: given)
      states[states.count - 1] = CrashState(model: next, step: step)
    }
    return given
  }

  private func enter(_ model: StorageModel, _ step: Int, _ edits: [StorageEdit] = []) {
    states.append(CrashState(model: model, edits: edits, step: step))
    issue(states.count - 1)
  }

  private func acknowledge(_ durability: Durability) {
    acknowledge(states.count - 1, durability)
  }

  /// Runs a step of the program.
  func run(_ number: Int) async throws {
    switch program.step(number) {
    case .commit(let changes, let durability):
      try await commit(try model.edits(changes, trees), number, durability)
    case .wipe(let index, let durability):
      try await commit([.wipe(trees[index])], number, durability)
      let (name, order) = program.trees[index]
      trees[index] = try await tree(name, order)
    case .tidy: _ = try await backend.tidy(.milliseconds(200))
    case .harden:
      guard let newest else { return }
      try await backend.harden(newest.commit)
      acknowledge(newest.state, program.strongest)
    case .suspend:
      try await backend.suspend()
      acknowledge(program.strongest)
      try await backend.resume()
    case .reopen:
      try await backend.close()
      acknowledge(program.strongest)
      newest = nil
      backend = try open()
    }
  }

  /// Makes one more durable commit, which is not part of the program.
  func commitOnceMore() async throws {
    var random = SeededRandom(seed: program.seed &+ UInt64(step))
    let edits = try model.edits(program.changes(&random), trees)
    try await commit(edits, step + 1_000_000, program.strongest)
  }

  /// Commits edits with the number of their step.
  func commit(_ edits: [StorageEdit], _ step: Int, _ durability: Durability) async throws {
    let edits = edits + [StepLog.note(step, ledger)]
    var next = model
    let expected = try next.commit(edits)
    enter(next, step, edits)
    let receipt = try await backend.commit(edits, durability)
    newest = (receipt.commit, states.count - 1)
    acknowledge(durability)
    try require(
      receipt.writes == expected.writes && receipt.queries == expected.queries, .reusedID,
      "the receipt of step \(step) names \(receipt.writes) and \(receipt.queries), "
        + "not \(expected.writes) and \(expected.queries)")
  }

  /// Closes the backend, which makes all of it durable.
  func close() async throws {
    try await backend.close()
    acknowledge(program.strongest)
  }
}
