import ConiferKeyValue
import ConiferLeafStore

/// The progress of dropping the runs that a lost dictionary leaves unreadable.
struct DictionaryDrop: Sendable {
  let number: UInt32
  private let tree: TreeID
  /// Runs that may have a delta which needs the dictionary.
  private var changed = NumberFilter()
  private var scan: SpaceScan

  init(_ tx: LeafTransaction, _ tree: TreeID, _ number: UInt32) throws(StoreError) {
    self.tree = tree
    self.number = number
    var scan = SpaceScan(Spaces.deltas, tree)
    while !scan.isDone {
      for (key, value) in try scan.records(tx) where Self.names(key, value, number) {
        changed.insert(StoreKey.numberAfterTree(key))
      }
    }
    self.scan = SpaceScan(Spaces.runs, tree)
  }

  var isDone: Bool { scan.isDone }

  /// The keys of those of the next runs that cannot be read without the dictionary.
  mutating func users(_ tx: LeafTransaction) throws(StoreError) -> [Bytes] {
    var users: [Bytes] = []
    for (key, value) in try scan.records(tx) {
      guard let head = try? RunHead(storeKey: key, value: value) else { continue }
      var isUser = head.dictionary == number
      if !isUser, changed.contains(head.number) { isUser = try hasDelta(tx, head) }
      if isUser { users.append(key) }
    }
    return users
  }

  private func hasDelta(_ tx: LeafTransaction, _ run: RunHead) throws(StoreError) -> Bool {
    try tx.entries(Spaces.deltas, prefix: DeltaRecord.prefix(tree, run.number))
      .contains { Self.names($0.key, $0.value, number) }
  }

  private static func names(_ key: Bytes, _ value: Bytes, _ number: UInt32) -> Bool {
    (try? DeltaRecord.Head(key: key, value: value))?.dictionary == number
  }
}

/// Repairing a dictionary that cannot be read.
extension RecordRepair {
  /// The maximum number of scan steps in one commit.
  private static let scansPerCommit = 16

  /// Whether a dictionary is damaged, or is missing although a run or delta names it.
  func isDictionaryDamaged(
    _ key: Bytes, _ value: Bytes?, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    guard let value else {
      var drop = try DictionaryDrop(tx, info.id, DictionaryRecord.number(key))
      while !drop.isDone {
        if try !drop.users(tx).isEmpty { return true }
      }
      return false
    }
    do throws(StoreError) {
      _ = try DictionaryRecord(key: key, value: value)
      return false
    } catch {
      return error.code == .damaged
    }
  }

  /// Drops the next runs that need a dictionary. After the last of them it drops the dictionary,
  /// with one report for all.
  ///
  /// - Parameter earlier: the progress of the commits before.
  /// - Returns: the progress, when another commit must continue.
  func dropDictionary(
    _ key: Bytes, _ info: TreeInfo, _ earlier: DictionaryDrop?
  ) throws(StoreError) -> DictionaryDrop? {
    let number = DictionaryRecord.number(key)
    if earlier == nil {
      // New records are no longer packed with it.
      try tx.changeUsage(info.id) { if $0.newestDictionary == number { $0.newestDictionary = 0 } }
      try MendingMarker.add(tx, info.id)
    }
    var drop = if let earlier { earlier } else { try DictionaryDrop(tx, info.id, number) }
    var ranges: [PruneRanges.KeyRange] = []
    for _ in 0..<Self.scansPerCommit where !drop.isDone {
      for storeKey in try drop.users(tx) {
        ranges.append(try range(storeKey))
        try tx.delete(Spaces.runs, storeKey)
      }
      if ranges.count >= SpaceScan.mostRecords { break }
    }
    try markIncomplete(ranges, info)
    try rebuildOverlays(info)
    guard drop.isDone else { return drop }
    let stored = try tx.value(Spaces.dictionaries, key)
    try Incidents.add(
      tx,
      Incident(
        kind: .cacheRangeDropped, tree: info.id,
        place: "dictionary \(number), with the runs that need it",
        bytes: Bytes((stored ?? []).prefix(Incidents.maximumCacheBytes))))
    if stored != nil {
      try tx.delete(Spaces.dictionaries, key)
      try tx.changeUsage(info.id) { $0.dictionaries -= 1 }
    }
    return nil
  }
}
