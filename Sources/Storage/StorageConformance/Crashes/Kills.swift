internal import ConiferKeyValue
internal import ConiferStorage

/// A test that kills processes while they commit, and checks what the store holds afterwards.
///
/// An exit test runs the child's part. SIGKILL ends it at a moment that the kill's number
/// determines: at a file operation, or after some time. The next child continues with the store
/// that it left. In a test:
///
///     @Test func kills() async throws {
///       let kills = try Kills(of: Mine.factory)
///       defer { kills.finish() }
///       for kill in kills.numbers {
///         await #expect(processExitsWith: .signal(SIGKILL)) {
///           [directory = kills.directory as String, kill = kill as Int] in
///           try await Kills.commit(Mine.factory, in: directory, kill: kill)
///         }
///         try await kills.check(after: kill)
///       }
///     }
public final class Kills {
  /// The number of kills after which a new store is made. The few kills of a variant have as many stores.
  private static func life(_ factory: BackendFactory) -> Int { factory.isVariant ? 2 : 20 }

  /// Where the children find the store; removed by `finish`.
  public let directory: String
  private let factory: BackendFactory
  private var states = [CrashState(model: .init(), step: 0)]
  /// The newest commit of each caller, for a store with a workload.
  private var held: [Int] = []
  private var count = 0
  private var commits = 0
  private var failure: ConformanceFailure?

  /// Kills of processes with one kind of backend.
  ///
  /// - Parameter factory: opens the backend; the children must be given one that opens the same.
  /// - Throws: ``ConformanceFailure`` when no directory can be made, or `CONIFER_KILLS` is not a
  ///   number.
  public init(of factory: BackendFactory) throws {
    self.factory = factory
    let count = try Variable.count("CONIFER_KILLS") ?? 200
    numbers = 1...(factory.isVariant ? (count + 9) / 10 : count)
    directory = try System.makeTemporaryDirectory()
  }

  /// The numbers of the kills: 200 of them, or as many as `CONIFER_KILLS` in the environment says; of a variant
  /// a tenth.
  public let numbers: ClosedRange<Int>

  private static func number(_ factory: BackendFactory, _ kill: Int) -> Int {
    (kill - 1) / life(factory)
  }
  private static func store(_ factory: BackendFactory, _ directory: String, _ kill: Int) -> String {
    directory + "/store\(number(factory, kill))"
  }
  private static func report(_ directory: String, _ kill: Int) -> String {
    directory + "/kill\(kill)"
  }
  private static func program(_ factory: BackendFactory, _ kill: Int) -> CrashProgram {
    CrashProgram(
      seed: UInt64(number(factory, kill) + 100), strongest: factory.declared.strongest,
      isWhole: false, documents: factory.documents)
  }
  /// The workload of a store: concurrent writers, or nodes or documents that are evicted; nil for those with a program.
  private static func workload(_ factory: BackendFactory, _ kill: Int) -> (any CrashWorkload)? {
    let store = number(factory, kill)
    return switch store % 5 {
    case 1: DocumentStream(factory)
    case 2: NodeStream(factory)
    case 3: Writers(seed: UInt64(store + 100), strongest: factory.declared.strongest)
    default: nil
    }
  }
  private static func open(
    _ factory: BackendFactory, _ directory: String, _ kill: Int
  ) throws -> any StorageBackend {
    try factory.openForWorkload(store(factory, directory, kill))
  }

  /// The child's part: commits until it is killed, and records each acknowledgement before it
  /// continues.
  ///
  /// - Parameters:
  ///   - factory: the backend that is killed.
  ///   - directory: the parent's ``directory``.
  ///   - kill: the number of the kill, which chooses the moment.
  /// - Throws: ``ConformanceFailure`` when the store is not in a state of the program; `StoreError`
  ///   when it refuses a step.
  public static func commit(
    _ factory: BackendFactory, in directory: String, kill: Int
  ) async throws {
    try? System.makeDirectory(store(factory, directory, kill))
    var random = SeededRandom(seed: UInt64(kill))
    var session: IOSession?
    if IOSession.isAvailable, kill % 2 == 0 {
      session = try .fail(
        store(factory, directory, kill), at: Int.random(in: 0..<100, using: &random), with: .kill)
    }
    let delay = UInt32.random(in: 0..<100_000, using: &random)
    // Some die soon after the start, so that openings are killed too; a variant's kills are so few that all must meet
    // commits.
    let isEarly = kill % 4 == 1 && !factory.isVariant
    if session == nil, isEarly { System.die(after: delay) }
    if let workload = workload(factory, kill) {
      let backend = try open(factory, directory, kill)
      let held = try workload.held(by: backend, nil)
      if session == nil, !isEarly { System.die(after: delay) }
      try await workload.run(
        on: backend, after: held, 500, isDurable: false, issue: { _, _ in },
        acknowledge: { caller, number, position, durability in
          write("\(caller) \(number) \(position) \(durability.rawValue)", report(directory, kill))
        })
      session?.end()
      return System.die()
    }
    let program = program(factory, kill)
    var opened: (any StorageBackend)? = try open(factory, directory, kill)
    let states = try opened?.read { (view) throws(StoreError) in
      try program.states(upTo: try StepLog.step(view), try view.trees())
    }
    let run = try await CrashRun(
      program, after: states ?? [],
      open: {
        defer { opened = nil }
        return try opened ?? open(factory, directory, kill)
      },
      acknowledge: { state, durability in
        write("\(state) \(durability.rawValue)", report(directory, kill))
      })
    // On a slow machine, opening may take longer than the delay, so for every second kill the delay
    // begins after opening.
    if session == nil, !isEarly { System.die(after: delay) }
    let first = run.states.last?.step ?? 0
    for step in (first + 1)...(first + 1000) { try await run.run(step) }
    session?.end()
    System.die()
  }

  /// Records an acknowledgement.
  private static func write(_ line: String, _ report: String) {
    do {
      try System.append(line, to: report)
    } catch {
      // The parent must know of every acknowledgement, so a failure ends the process.
      System.die()
    }
  }

  /// The parent's part: opens and checks the store that a killed child left.
  ///
  /// - Parameter kill: the number of the kill that was just made.
  /// - Throws: ``ConformanceFailure`` with the anomaly, when the store does not hold a prefix of the
  ///   commits with every one that was acknowledged at `.process` or more, or its parts are of
  ///   different commits, or it cannot be opened.
  public func check(after kill: Int) async throws {
    count += 1
    let place =
      "kill \(kill) of \(factory), program \(Self.program(factory, kill).seed); the store is at "
      + "\(Self.store(factory, directory, kill)) until the test ends"
    do {
      if let workload = Self.workload(factory, kill) {
        try await checkStore(after: kill, workload)
      } else {
        try await checkStore(after: kill)
      }
    } catch {
      let found = error as? ConformanceFailure
      let failure = ConformanceFailure(
        found?.anomaly ?? .refused, "\(found?.message ?? "\(error)")\n\(place)")
      self.failure = failure
      throw failure
    }
    guard kill % Self.life(factory) == 0 else { return }
    System.removeTree(Self.store(factory, directory, kill))
    states = [CrashState(model: .init(), step: 0)]
    held = []
  }

  private func checkStore(after kill: Int, _ workload: any CrashWorkload) async throws {
    if held.isEmpty { held = workload.nothing }
    try? System.makeDirectory(Self.store(factory, directory, kill))
    let backend = try Self.open(factory, directory, kill)
    do {
      // Each caller may have had one commit in progress.
      var bounds = CrashBounds(
        acknowledged: held.reduce(0, +), issued: held.map { $0 + 1 })
      for line in try System.lines(of: Self.report(directory, kill)) {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 4, bounds.issued.indices.contains(numbers[0]) else { continue }
        commits += 1
        bounds.issued[numbers[0]] = max(bounds.issued[numbers[0]], numbers[1] + 1)
        if numbers[3] >= Int(Durability.process.rawValue) {
          bounds.acknowledged = max(bounds.acknowledged, numbers[2])
        }
      }
      held = try workload.held(by: backend, bounds)
      try await backend.close()
    } catch {
      try? await backend.close()
      throw error
    }
  }

  private func checkStore(after kill: Int) async throws {
    // A child that is killed at once leaves no store.
    try? System.makeDirectory(Self.store(factory, directory, kill))
    let backend = try Self.open(factory, directory, kill)
    do {
      let before = states.count - 1
      var (acknowledged, issued) = (before, before + 1)
      for line in try System.lines(of: Self.report(directory, kill)) {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { continue }
        commits += 1
        // One commit may have been in progress.
        issued = max(issued, numbers[0] + 1)
        if numbers[1] >= Int(Durability.process.rawValue) {
          acknowledged = max(acknowledged, numbers[0])
        }
      }
      let program = Self.program(factory, kill)
      let trees = try backend.read { (view) throws(StoreError) in try view.trees() }
      // Creating each tree is a state of its own.
      let creations = program.trees.count + 1
      if before < creations { issued = max(issued, creations + 1) }
      try program.extend(&states, to: issued, trees)
      issued = min(issued, states.count - 1)
      try require(
        acknowledged <= issued, .lostAcknowledged,
        "state \(acknowledged) was acknowledged, and trees are missing that it needs: \(trees)")
      let verdict = CrashVerdict(states: states, acknowledged: acknowledged, issued: issued)
      let state = try verdict.state(of: backend)
      states.removeSubrange((state + 1)...)
      try await backend.close()
    } catch {
      try? await backend.close()
      throw error
    }
  }

  /// Reports the number of killed processes as a check's result, and removes the directory.
  public func finish() {
    ReportFile.append(
      CheckResult(
        factory: "\(factory)", tier: 2, group: "kills",
        check: "a killed process leaves a prefix of its commits with every acknowledged one",
        outcome: shortcoming == nil ? .passed : .failed, anomaly: failure?.anomaly,
        reason: shortcoming,
        counts: ["kills": count, "commits of killed processes": commits]))
    System.removeTree(directory)
  }

  /// Why the kills prove less than they should; nil when they do not.
  private var shortcoming: String? {
    if let failure { return failure.message }
    if count < numbers.count { return "only \(count) of \(numbers.count) kills were checked" }
    return commits > 0 ? nil : "no killed process had made a commit"
  }
}

extension CrashProgram {
  /// The states up to a step, computed without a backend, for a program without wipes.
  ///
  /// - Parameter trees: the store's trees, with their numbers.
  func states(upTo step: Int, _ trees: [TreeInfo]) throws(StoreError) -> [CrashState] {
    var states = [CrashState(model: .init(), step: 0)]
    try extend(&states, to: self.trees.count + 1, trees)
    while let last = states.last, last.step < step {
      try extend(&states, to: states.count, trees)
      if states.last?.step == last.step { break }
    }
    return states
  }

  /// Adds states up to a step, as far as the trees exist that they need.
  func extend(_ states: inout [CrashState], to last: Int, _ trees: [TreeInfo]) throws(StoreError) {
    let wanted = [(name: StepLog.tree, order: KeyOrder.realtimeDatabase)] + self.trees
    while states.count <= last {
      guard let state = states.last else { return }
      var model = state.model
      if states.count <= wanted.count {
        let (name, order) = wanted[states.count - 1]
        guard let info = trees.first(where: { $0.name == name }) else { return }
        _ = try model.tree(named: name, order: order, id: info.id)
        states.append(CrashState(model: model, step: 0))
        continue
      }
      let ids = wanted.compactMap { tree in trees.first { $0.name == tree.name }?.id }
      guard ids.count == wanted.count else { return }
      var number = state.step + 1
      var edits: [StorageEdit] = []
      while edits.isEmpty {
        if case .commit(let changes, _) = step(number) {
          edits = try model.edits(changes, Array(ids.dropFirst())) + [StepLog.note(number, ids[0])]
        } else {
          number += 1
        }
      }
      _ = try model.commit(edits)
      states.append(CrashState(model: model, edits: edits, step: number))
    }
  }
}
