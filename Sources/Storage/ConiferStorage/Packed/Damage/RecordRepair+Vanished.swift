import ConiferKeyValue
import ConiferLeafStore

/// Records that are gone although nothing that was read is damaged.
struct RecordLoss {
  enum What {
    /// Records of a group: how many bytes less there are than are counted, and how many more.
    ///
    /// - Parameter writes: whether bytes of waiting writes are among the missing ones.
    case records(RecordGroup, missing: Int, extra: Int, writes: Bool)
    /// The counts themselves.
    case counts
  }

  let tree: TreeID
  let what: What

  /// What a report says.
  ///
  /// - Parameter floor: the number above which new writes get theirs, which makes it another report than that of an equal
  ///   loss before; nil where it was not raised.
  fileprivate func incident(_ floor: UInt64?) -> Incident {
    let place: String
    var kind = Incident.Kind.recordSetAside
    switch what {
    case .records(let group, let missing, let extra, let writes):
      var words: [String] = []
      if missing > 0 { words.append("records of \(missing) bytes are gone") }
      if extra > 0 { words.append("there are records of \(extra) bytes more than are counted") }
      place = "some of \(group.words): \(words.joined(separator: ", and "))"
      // Lost writes need care as those do that were set aside.
      if writes { kind = .writeSetAside }
    case .counts:
      place = "the counts of the tree are gone: nobody can say whether queued writes are too"
    }
    let numbers = floor.map { "; new writes get numbers above \($0)" } ?? ""
    return Incident(kind: kind, tree: tree, place: place + numbers, bytes: [])
  }
}

extension RecordRepair {
  /// Reports a loss, lets new writes have numbers that no lost one had, makes what is left consistent, and has the tree
  /// counted anew, so that the loss is reported once.
  ///
  /// - Throws: as reads do where something there cannot be read.
  func repair(_ loss: RecordLoss) throws(StoreError) {
    guard let info = try Trees.info(tx, loss.tree) else { return }
    switch loss.what {
    case .records(.queue, _, _, _):
      // Mending the tree would remove what belongs to writes of locked lanes.
      guard try !RecordGroup.queue.isLocked(info.id, in: tx) else { return try report(loss) }
      try add(loss.incident(try raiseFloor()))
      try setLonePartsAside(info)
      try reconcileQueues(info)
    case .records(.pins, _, _, _):
      try add(loss.incident(nil))
      tx.effects.cover.uncovered.insert(info.id)
    case .records(.queries, _, _, _):
      try add(loss.incident(nil))
      tx.effects.cover.uncovered.insert(info.id)
      try reconcileQueries(info)
    case .counts:
      try add(loss.incident(try raiseFloor()))
      try loseUsage(info.id)
      try restartIndexes(info.id)
      if try !RecordGroup.queue.isLocked(info.id, in: tx) {
        try setLonePartsAside(info)
        try reconcileQueues(info)
      }
      try reconcileQueries(info)
    }
    try MendingMarker.add(tx, info.id)
  }

  /// Reports a loss, unless it was reported before, and lets new writes have numbers that no lost one had.
  func report(_ loss: RecordLoss) throws(StoreError) {
    guard try Trees.info(tx, loss.tree) != nil else { return }
    let incident = loss.incident(nil)
    guard try !Incidents.contains(tx, where: { $0 == incident }) else { return }
    try add(incident)
    if case .records(.queue, _, _, _) = loss.what { try QueueFloor.raise(tx) }
  }

  private func add(_ incident: Incident) throws(StoreError) {
    tx.frees = true
    try Incidents.add(tx, incident)
  }

  private func raiseFloor() throws(StoreError) -> UInt64 {
    try QueueFloor.raise(tx)
    return try QueueFloor.safe(tx)
  }
}
