import ConiferKeyValue
import ConiferLeafStore

/// Records of a group that are gone without a trace, or that nobody wrote.
struct VanishedGroup {
  let tree: TreeID
  let group: RecordGroup
  /// The bytes that the usage counts, and those that are there.
  let counted: Int
  let found: Int

  /// The place of a report. Commits change neither the words nor the difference, so that a loss has one report.
  fileprivate var words: String {
    found < counted
      ? "some of \(group.words): records of \(counted - found) bytes are gone"
      : "\(group.words): there are records of \(found - counted) bytes that nobody wrote"
  }
}

extension RecordRepair {
  /// Reports a group, unless it was reported before, and lets new writes have numbers that no lost one had.
  ///
  /// It reads nothing of the group, so that a report never fails for what is damaged there.
  func report(_ finding: VanishedGroup) throws(StoreError) {
    let incident = Incident(
      kind: .recordSetAside, tree: finding.tree, place: finding.words, bytes: [])
    guard try !Incidents.all(tx).contains(incident) else { return }
    tx.frees = true
    try Incidents.add(tx, incident)
    if finding.group == .queue { try QueueFloor.raise(tx) }
  }

  /// Makes what is left of a group consistent; then the tree is counted anew, in slices.
  func mend(_ finding: VanishedGroup) throws(StoreError) {
    guard let info = try Trees.info(tx, finding.tree) else { return }
    tx.frees = true
    switch finding.group {
    case .queue:
      try setLonePartsAside(info)
      try reconcileQueues(info)
    case .pins: tx.effects.cover.uncovered.insert(info.id)
    case .queries:
      tx.effects.cover.uncovered.insert(info.id)
      try reconcileQueries(info)
    }
    try MendingMarker.add(tx, info.id)
  }
}
