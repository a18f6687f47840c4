internal import ConiferStorage

/// Runs the program with the first, second, third … operation failing, until a run ends without a
/// fault; or with a sample of the operations.
struct FaultLoop {
  let fixture: BackendFixture
  let fault: StorageFault

  /// - Throws: `ConformanceFailure` with the operation that failed, and how to repeat it.
  func run(_ choice: FaultChoice) async throws {
    var (runs, faults) = (0, 0)
    func fail(at number: Int?) async throws -> FaultRun {
      let run = try await self.run(at: number)
      runs += 1
      faults += run.failures
      return run
    }
    // A run on a sound disk counts the operations, and shows that the program succeeds there.
    let sound = try await fail(at: nil)
    let total = sound.session.operationCount
    guard total > 0 else { throw NotApplicable("makes no file calls that can be watched") }
    switch choice {
    case .one(let number):
      guard number < total else {
        throw ConformanceFailure(
          "CONIFER_FAULTS=\(number) names none of the program's \(total) operations.")
      }
      _ = try await fail(at: number)
    case .all:
      var number = 0
      while try await fail(at: number).session.operationCount > number { number += 1 }
    case .sample(let seed, let count):
      let some = sample(of: total, fixture.factory.share(of: count), seed, with: sound.promises)
      for number in some { _ = try await fail(at: number) }
    }
    CheckRecord.current?.count("injected faults", faults)
  }

  /// The operations to fail, in order. All syncs are included, since they are few and matter most,
  /// except on a variant, which gets the first ones of hardening, suspending and closing.
  private func sample(
    of total: Int, _ count: Int, _ seed: UInt64, with promises: [Int]
  ) -> [Int] {
    guard total > count, fault != .sync || fixture.factory.isVariant else {
      return Array(0..<total)
    }
    // Variants of one engine get different samples.
    let name = "\(fixture.factory)\(fault)".utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) }
    var random = SeededRandom(seed: name)
    var chosen = Set(0..<min(FaultChoice.first, total, count))
    if fault == .sync, count > FaultChoice.first { chosen.formUnion(promises) }
    while chosen.count < count { chosen.insert(Int.random(in: 0..<total, using: &random)) }
    return chosen.sorted()
  }

  private func run(at number: Int?) async throws -> FaultRun {
    let directory = fixture.directory + "/" + (number.map { "\(fault)-\($0)" } ?? "\(fault)-sound")
    try System.makeDirectory(directory)
    defer { System.removeTree(directory) }
    let run = try FaultRun(fixture.factory, fault, at: number, directory)
    do {
      try await run.run()
    } catch {
      let words = (error as? ConformanceFailure)?.message ?? "\(error)"
      let anomaly = (error as? ConformanceFailure)?.anomaly ?? .wrongError
      guard let number else { throw ConformanceFailure(anomaly, "On a sound disk: \(words)") }
      throw ConformanceFailure(
        anomaly,
        "\(fixture.factory), \(fault.rawValue) at operation \(number) "
          + "(\(run.session.failure ?? "not reached")): \(words)\nCONIFER_FAULTS=\(number) "
          + "CONIFER_CHECK='\(fault.rawValue)' swift test repeats it")
    }
    return run
  }
}
