public import ConiferKeyValue

/// A position in a store's list of incidents: later reports come after it.
public struct IncidentPosition: Hashable, Sendable {
  /// The numbers of a tree's newest incidents, 0 where there is none; each kind's rise by one with
  /// each report.
  public struct Newest: Hashable, Sendable {
    /// The number of the newest report of a write that was set aside.
    public var write: UInt64
    /// The number of the newest one of the other reports.
    public var other: UInt64

    /// The numbers of a tree's newest reports.
    public init(write: UInt64 = 0, other: UInt64 = 0) {
      self.write = write
      self.other = other
    }
  }

  /// The numbers of the newest reports, by tree.
  public let newest: [TreeID: Newest]

  /// A position in the reports; without numbers, the one before them all.
  public init(_ newest: [TreeID: Newest] = [:]) { self.newest = newest }

  /// The position that is before all reports of a tree, and the same in others.
  func without(_ tree: TreeID) -> IncidentPosition {
    IncidentPosition(newest.filter { $0.key != tree })
  }

  /// How many reports were made after a position, including those that newer ones have replaced.
  package func count(since earlier: IncidentPosition) -> Int {
    var count: UInt64 = 0
    for (tree, newest) in newest {
      let known = earlier.newest[tree] ?? Newest()
      count += newest.write - min(known.write, newest.write)
      count += newest.other - min(known.other, newest.other)
    }
    return Int(clamping: count)
  }
}
