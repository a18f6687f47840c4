import ConiferKeyValue

/// What is done about a dictionary that cannot be read.
extension Repair {
  /// Whether a dictionary is missing or damaged; one that nothing names is not missed.
  func isDictionaryDamaged(
    _ key: Bytes, _ value: Bytes?, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    guard let value else { return try !users(DictionaryRecord.number(key), info.id).isEmpty }
    do throws(StoreError) {
      _ = try DictionaryRecord(key: key, value: value)
      return false
    } catch {
      return error.code == .damaged
    }
  }

  /// The runs that cannot be read without a dictionary: theirs, or that of one of their deltas.
  private func users(_ number: UInt32, _ tree: TreeID) throws(StoreError) -> [Bytes] {
    var changed: Set<UInt64> = []
    for (key, value) in try tx.entries(Spaces.deltas, prefix: StoreKey.prefix(tree)) {
      guard Record.isIntact(Spaces.deltas, key, value) else { continue }
      if try DeltaRecord.Head(key: key, value: value).dictionary == number {
        changed.insert(IndexKey.number(Bytes(key.prefix(12))))
      }
    }
    var users: [Bytes] = []
    for key in try tx.keys(Spaces.runs, prefix: StoreKey.prefix(tree)) {
      guard let value = try tx.value(Spaces.runs, key), Record.isIntact(Spaces.runs, key, value)
      else { continue }
      let head = try RunHead(storeKey: key, value: value)
      if head.dictionary == number || changed.contains(head.number) { users.append(key) }
    }
    return users
  }

  /// Drops a dictionary and every run that needs it, in one report.
  func dropDictionary(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    let number = DictionaryRecord.number(key)
    let users = try users(number, info.id)
    for storeKey in users {
      let (low, high) = try range(storeKey)
      try tx.delete(Spaces.runs, storeKey)
      try markIncomplete(low, high, info)
    }
    let bytes = try tx.value(Spaces.dictionaries, key) ?? []
    try Incidents.add(
      tx,
      Incident(
        kind: .cacheRangeDropped, tree: info.id,
        place: "dictionary \(number), which \(users.count) runs need",
        bytes: Bytes(bytes.prefix(Incidents.keptOfCache))))
    try tx.delete(Spaces.dictionaries, key)
    try dropOrphans(info.id)
  }

  /// Counts a tree's dictionaries anew.
  ///
  /// - Parameter named: the highest number that a run or delta names.
  func recountDictionaries(
    _ tree: TreeID, _ known: UsageRow?, named: UInt32, _ row: inout UsageRow
  ) throws(StoreError) {
    var highest = named
    for (key, value) in try tx.entries(Spaces.dictionaries, prefix: StoreKey.prefix(tree)) {
      row.dictionaries += 1
      highest = max(highest, DictionaryRecord.number(key))
      if DictionaryRecord.kind(key, value) == DictionaryRecord.bodies {
        row.newestDictionary = DictionaryRecord.number(key)
      }
    }
    if let known {
      row.nextDictionary = max(known.nextDictionary, highest.saturatingNext)
      row.recent = known.recent
    } else {
      // Dropped ones may have had higher numbers, and none may repeat.
      let (next, isOver) = highest.addingReportingOverflow(1 << 10)
      row.nextDictionary = isOver ? .max : next
      row.recent.add(raw: row.raw.runs, packed: row.bytes[Spaces.runs.id] ?? 0)
    }
  }
}

extension UInt32 {
  /// The next number, or the last one.
  fileprivate var saturatingNext: UInt32 { self == .max ? .max : self + 1 }
}
