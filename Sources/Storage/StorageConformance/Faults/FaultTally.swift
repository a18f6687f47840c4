internal import Synchronization

/// How many operations the kit has let fail in this process.
public enum FaultTally {
  private static let all = Mutex<[String: Int]>([:])

  /// How many, by the description of the backend's factory.
  public static var tallies: [String: Int] { all.withLock { $0 } }

  /// Adds what a check let fail, and prints it.
  static func add(_ factory: BackendFactory, _ name: String, faults: Int, runs: Int) {
    all.withLock { $0["\(factory)", default: 0] += faults }
    print("\(name): \(factory): \(faults) operations failed in \(runs) runs")
  }
}
