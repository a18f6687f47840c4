internal import ConiferKeyValue
internal import ConiferStorage

extension ProcessCheck {
  /// Files that were damaged while the store was closed. `CONIFER_DAMAGES` sets how many mutations
  /// each check tries, `CONIFER_SEED` which.
  static let damages: [ProcessCheck] = [
    ProcessCheck(
      group: "damage", name: "a truncated file is reported, and nothing wrong is read",
      anomaly: .silentLoss, parent: { try await damage($0, overlooking: []) }
    ) { try await tryDamages($0) { Mutation.cuts($0, atMost: $1, seed: $2) } },
    ProcessCheck(
      group: "damage", name: "flipped bits are reported, and nothing wrong is read",
      anomaly: .silentLoss, parent: { try await damage($0, overlooking: $0.factory.overlooks) }
    ) { try await tryDamages($0) { Mutation.flips($0, atMost: $1, seed: $2) } },
  ]

  private static var seed: UInt64 {
    get throws { try Variable.seed() ?? 1 }
  }

  /// The folders of the images that are damaged; each gets half of the mutations.
  private static let images = ["killed", "closed"]

  /// The number of mutations that a check tries by default.
  @TaskLocal static var damageCount = 100

  /// The number of seconds without an answer after which a store counts as hanging.
  @TaskLocal static var patience: UInt32 = 60

  /// Makes the store, then lets processes damage it until every mutation was tried.
  ///
  /// - Parameter overlooked: the findings that are no failure.
  private static func damage(
    _ trial: ProcessTrial, overlooking overlooked: Set<Anomaly>
  ) async throws {
    // The files that a killed process leaves, with logs and journals, and those after an orderly
    // close.
    let backend = try trial.factory.openStore(trial.directory + "/made")
    try await DamageSample(trial.factory.documents).write(to: backend)
    let none = Mutation(file: "", position: 0, kind: .cut)
    let killed = StoreFile.all(in: trial.directory + "/made")
    try StoreFile.write(killed, to: trial.directory + "/\(images[0])", none)
    try await backend.close()
    let closed = StoreFile.all(in: trial.directory + "/made")
    try StoreFile.write(closed, to: trial.directory + "/\(images[1])", none)
    let all = try Variable.count("CONIFER_DAMAGES") ?? damageCount
    let count = trial.factory.isVariant ? (all + 9) / 10 : all
    var next = 0
    var outcomes: [(mutation: String, name: String, words: String)] = []
    while true {
      let before = trial.notes.lines.count
      try await trial.run("\(next) \(count) \(patience)")
      let lines = trial.notes.lines.dropFirst(before).map {
        $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      }
      var begun: (number: Int, mutation: String)?
      for line in lines where line.count >= 3 {
        if line[0] == "at" {
          begun = (Int(line[1]) ?? next, line[2])
        } else if line[0] == "was", let mutation = begun?.mutation {
          outcomes.append((mutation, line[1], line[2]))
          begun = nil
        }
      }
      if let trapped = begun {
        let signal = lines.last?.first { $0.hasPrefix("signal ") } ?? "no signal was seen"
        let isHang = signal == "signal \(System.alarmSignal)"
        outcomes.append(
          isHang
            ? (trapped.mutation, Anomaly.hang.rawValue, "no answer within \(patience) seconds")
            : (trapped.mutation, Anomaly.trap.rawValue, signal))
        next = trapped.number + 1
      } else if lines.last?.first == "done" {
        break
      } else {
        throw ConformanceFailure("the second process ended before it damaged anything")
      }
    }
    try summarize(outcomes, overlooking: overlooked)
  }

  private static func summarize(
    _ outcomes: [(mutation: String, name: String, words: String)],
    overlooking overlooked: Set<Anomaly>
  ) throws {
    CheckRecord.current?.count("damaged stores", outcomes.count)
    for outcome in outcomes { CheckRecord.current?.count(outcome.name) }
    let fine: Set<String> = ["refused", "whole", "told"]
    let found = outcomes.filter { !fine.contains($0.name) }
    let bad = found.filter { !overlooked.contains(anomaly($0.name)) }
    if let first = bad.first {
      throw ConformanceFailure(
        anomaly(first.name),
        "\(bad.count) of \(outcomes.count) damaged stores broke a promise:\n"
          + bad.prefix(12).map { "  \($0.mutation): \($0.name): \($0.words)" }
          .joined(separator: "\n"),
        seed: try seed)
    }
    guard !overlooked.isEmpty else { return }
    let needless = overlooked.subtracting(found.map { anomaly($0.name) })
    // Fewer may miss what is rare.
    try require(
      needless.isEmpty || outcomes.count < manyDamages,
      "none of \(outcomes.count) damaged stores showed \(words(needless)), which 'overlooks' "
        + "excuses; take it out")
    CheckRecord.current?.exempts("the engine cannot notice all of it: \(words(overlooked))")
  }

  /// From this number of damaged stores on, each excuse must have been needed.
  @TaskLocal static var manyDamages = 2000

  private static func words(_ anomalies: Set<Anomaly>) -> String {
    anomalies.map(\.rawValue).sorted().joined(separator: ", ")
  }

  /// The anomaly of an outcome: a store in an earlier state lost the later commits.
  private static func anomaly(_ outcome: String) -> Anomaly {
    outcome == DamageVerdict.older.name ? .lostAcknowledged : Anomaly(rawValue: outcome)
  }

  /// The second process's part: damages, opens, reads and writes, beginning with one mutation.
  private static func tryDamages(
    _ trial: ChildTrial, _ ways: ([StoreFile], Int, UInt64) -> [Mutation]
  ) async throws {
    let judge = try DamageComparison(trial.factory)
    try System.noteTraps(in: trial.notes.path)
    let order = trial.argument.split(separator: " ").compactMap { Int($0) }
    guard order.count == 3 else { throw ConformanceFailure("no order: \(trial.argument)") }
    let seed = try seed
    let tried = images.flatMap { image in
      let files = StoreFile.all(in: trial.directory + "/" + image)
      return ways(files, order[1] / images.count, seed).map { (image, files, $0) }
    }
    for (number, (image, files, mutation)) in tried.enumerated() where number >= order[0] {
      try StoreFile.write(files, to: trial.path, mutation)
      trial.note("at\t\(number)\t\(mutation), \(image)")
      System.watch(seconds: UInt32(clamping: order[2]))
      let verdict: DamageVerdict
      do throws(StoreError) {
        var options = trial.factory.options
        options.budget = nil
        let backend = try trial.factory.open(trial.path, options)
        verdict = await judge.verdict(backend)
      } catch {
        verdict = judge.refusal(error)
      }
      var words = ""
      if case .broken(_, let reason) = verdict { words = reason }
      if case .refused(let code) = verdict { words = code.rawValue }
      trial.note("was\t\(verdict.name)\t\(words)")
    }
    System.watch(seconds: 0)
    trial.note("done\t\t")
  }
}
