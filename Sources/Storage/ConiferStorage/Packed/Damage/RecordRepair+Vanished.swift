import ConiferKeyValue
import ConiferLeafStore

/// Records that are gone although nothing that was read is damaged.
struct RecordLoss {
  enum What {
    /// Records of a group: how many bytes less there are than are counted, and how many more.
    case records(RecordGroup, missing: Int, extra: Int)
    /// The counts themselves.
    case counts
  }

  let tree: TreeID
  let what: What

  /// What a report says.
  fileprivate var incident: Incident {
    switch what {
    case .records(let group, let missing, let extra):
      var words: [String] = []
      if missing > 0 { words.append("records of \(missing) bytes are gone") }
      if extra > 0 { words.append("there are records of \(extra) bytes more than are counted") }
      // Lost writes need care as those do that were set aside.
      return Incident(
        kind: group == .queue && missing > 0 ? .writeSetAside : .recordSetAside, tree: tree,
        place: "some of \(group.words): \(words.joined(separator: ", and "))", bytes: [])
    case .counts:
      return Incident(
        kind: .recordSetAside, tree: tree,
        place: "the counts of the tree are gone: nobody can say whether queued writes are too",
        bytes: [])
    }
  }
}

extension RecordRepair {
  /// Reports a loss, lets new writes have numbers that no lost one had, and has the tree counted anew, so that the loss
  /// is reported once.
  ///
  /// - Parameter mends: whether what is left is made consistent too, for which it must be readable.
  func report(_ loss: RecordLoss, mends: Bool) throws(StoreError) {
    guard let info = try Trees.info(tx, loss.tree) else { return }
    tx.frees = true
    try Incidents.add(tx, loss.incident)
    switch loss.what {
    case .records(.queue, _, _):
      try QueueFloor.raise(tx)
      if mends, try !RecordGroup.queue.isLocked(info.id, in: tx) {
        try setLonePartsAside(info)
        try reconcileQueues(info)
      }
    case .records(.pins, _, _): tx.effects.cover.uncovered.insert(info.id)
    case .records(.queries, _, _):
      tx.effects.cover.uncovered.insert(info.id)
      if mends { try reconcileQueries(info) }
    case .counts:
      try QueueFloor.raise(tx)
      try loseUsage(info.id)
      if mends { try restartIndexes(info.id) }
    }
    try MendingMarker.add(tx, info.id)
  }
}
