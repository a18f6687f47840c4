internal import Synchronization

/// How many crashes the kit has tried in this process, by backend.
public struct CrashTally: Sendable, Hashable {
  /// Points of programs at which power was lost.
  public var points = 0
  /// Disk images that such cuts left, and that the backend opened.
  public var images = 0
  /// Images of cuts during a recovery.
  public var recoveries = 0
  /// Processes that were killed.
  public var kills = 0
  /// Commits that they had made and reported.
  public var commits = 0

  private static let all = Mutex<[String: CrashTally]>([:])

  /// What was tried, by the description of the backend's factory.
  public static var tallies: [String: CrashTally] { all.withLock { $0 } }

  /// Adds what a check tried, and prints it.
  static func add(
    _ factory: BackendFactory, powerCuts: PowerLoss.Count = .init(),
    recoveries: PowerLoss.Count = .init(), kills: Int = 0, commits: Int = 0
  ) {
    all.withLock { all in
      all["\(factory)", default: CrashTally()].points += powerCuts.points + recoveries.points
      all["\(factory)", default: CrashTally()].images += powerCuts.images
      all["\(factory)", default: CrashTally()].recoveries += recoveries.images
      all["\(factory)", default: CrashTally()].kills += kills
      all["\(factory)", default: CrashTally()].commits += commits
    }
    for (name, count) in [("power loss", powerCuts), ("power loss in recovery", recoveries)]
    where count.images > 0 {
      print("\(name): \(factory): \(count.images) images at \(count.points) points")
    }
    if kills > 0 { print("kills: \(factory): \(kills), after \(commits) commits") }
  }
}
