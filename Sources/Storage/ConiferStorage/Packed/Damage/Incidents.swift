import ConiferKeyValue
import ConiferLeafStore

/// Reports of damage, with the bytes that were found.
///
/// Key: tree, then a number of eight bytes. Payload: kind, place in words, bytes.
enum Incidents {
  /// How many bytes of a damaged cache range are kept; queued writes are kept whole.
  static let maximumCacheBytes = 64 << 10

  private static let codes: [(Incident.Kind, UInt8)] = [
    (.cacheRangeDropped, 1), (.rangeUnreadable, 2), (.writeSetAside, 3), (.recordSetAside, 4),
  ]

  /// Whether this version knows the kind of a report by its number.
  static func isKnown(_ code: UInt8) -> Bool { codes.contains { $0.1 == code } }

  /// The maximum number of reports of a tree, without those of queued writes; a new one replaces
  /// the oldest.
  static let maximumReports = 256
  /// The first number of reports of queued writes. They hold bytes that exist nowhere else, so they
  /// are never removed.
  private static let writes: UInt64 = 1 << 62
  /// How many bytes a key has; another one was forged.
  private static let keyLength = 12

  static func add(_ tx: LeafTransaction, _ incident: Incident) throws(StoreError) {
    let prefix = StoreKey.prefix(incident.tree)
    let isWrite = incident.kind == .writeSetAside
    let number = try next(tx, prefix, in: isWrite ? writes...(.max) : 1...(writes - 1))
    var writer = ByteWriter()
    writer.byte(codes.first { $0.0 == incident.kind }?.1 ?? 4)
    writer.sized(incident.place)
    writer.append(incident.bytes)
    try tx.put(Spaces.incidents, prefix + StoreKey.number(number), payload: writer.bytes)
    tx.effects.reportsDamage = true
    if incident.tree.rawValue == 0 { tx.effects.ofStore.append(incident) }
    if !isWrite { try forgetOldest(tx, prefix, newest: number) }
  }

  /// The number after the last one of a range.
  ///
  /// Counting never reaches the end of a range, so a report with the last number was forged or
  /// damaged: it is moved after the others, or removed if it cannot be read.
  private static func next(
    _ tx: LeafTransaction, _ prefix: Bytes, in range: ClosedRange<UInt64>
  ) throws(StoreError) -> UInt64 {
    var end = range.upperBound
    var moved: [Bytes] = []
    var last = try newest(tx, prefix, in: range.lowerBound...end)
    while let number = last, number == end, end > range.lowerBound {
      let key = prefix + StoreKey.number(number)
      let value = try tx.value(Spaces.incidents, key) ?? []
      try tx.delete(Spaces.incidents, key)
      if let payload = Record.open(Spaces.incidents, key, value) { moved.append(payload) }
      end -= 1
      last = try newest(tx, prefix, in: range.lowerBound...end)
    }
    var next = last.map { $0 + 1 } ?? range.lowerBound
    for payload in moved.reversed() {
      try tx.put(Spaces.incidents, prefix + StoreKey.number(next), payload: payload)
      next += 1
    }
    return next
  }

  /// The last number of a report in a range.
  private static func newest(
    _ view: any OrderedView, _ prefix: Bytes, in range: ClosedRange<UInt64>
  ) throws(StoreError) -> UInt64? {
    var last: UInt64?
    let end = prefix + StoreKey.number(range.upperBound)
    try view.walkKeys(Spaces.incidents, .atOrBefore(end)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      guard key.byteCount == keyLength else { return .next }
      last = StoreKey.number(atEndOf: Bytes(key))
      return .stop
    }
    return last.flatMap { range.contains($0) ? $0 : nil }
  }

  /// Removes the oldest report when there are too many.
  private static func forgetOldest(
    _ tx: LeafTransaction, _ prefix: Bytes, newest: UInt64
  ) throws(StoreError) {
    var oldest: Bytes?
    try tx.walkKeys(Spaces.incidents, .atOrAfter(prefix)) { key, _ in
      oldest = Bytes(key)
      return .stop
    }
    guard let key = oldest, key.starts(with: prefix),
      newest - min(newest, StoreKey.number(atEndOf: key)) >= maximumReports
    else { return }
    guard let value = try readable(tx, key) else {
      return try tx.deleteAll(Spaces.incidents, prefix: key)
    }
    // Older stores numbered all reports in one range.
    if let payload = Record.open(Spaces.incidents, key, value), payload.first == 3 {
      let number = try next(tx, prefix, in: writes...(.max))
      try tx.put(Spaces.incidents, prefix + StoreKey.number(number), payload: payload)
    }
    try tx.delete(Spaces.incidents, key)
  }

  /// The record of a report; nil when its key is gone.
  private static func readable(
    _ view: any OrderedView, _ key: Bytes
  ) throws(StoreError) -> Bytes? {
    do throws(StoreError) {
      return try view.value(Spaces.incidents, key)
    } catch {
      guard error.code == .wrongKey else { throw error }
      return nil
    }
  }

  /// The position after the last report.
  static func position(_ view: any OrderedView) throws(StoreError) -> IncidentPosition {
    var newest: [TreeID: IncidentPosition.Newest] = [:]
    for tree in try trees(view) { newest[tree] = try Self.newest(view, tree) }
    return IncidentPosition(newest)
  }

  /// A window of the reports after a position, by tree; in each tree those of writes come last.
  ///
  /// Of a tree whose key is missing it has those that can be read.
  static func window(
    _ view: any OrderedView, after position: IncidentPosition, limit: Int,
    where isWanted: (Incident) -> Bool
  ) throws(StoreError) -> IncidentWindow {
    let newest = try Self.position(view).newest
    var end = position.newest
    // Numbers become smaller when a forged last one was found; then all reports are returned again.
    for (tree, last) in newest {
      if let known = end[tree]?.other, known > last.other { end[tree]?.other = 0 }
      if let known = end[tree]?.write, known > last.write { end[tree]?.write = 0 }
    }
    var (incidents, bytes, hasMore): ([Incident], Int, Bool) = ([], 0, false)
    // A walk that begins within the reports of a tree would end at the first that cannot be read.
    try view.walk(Spaces.incidents, .atOrAfter([])) { key, value in
      let key = Bytes(key)
      guard key.count == keyLength else { return .next }
      let (tree, number) = (StoreKey.tree(key), StoreKey.number(atEndOf: key))
      let isWrite = number >= writes
      var reached = end[tree] ?? IncidentPosition.Newest()
      let known = isWrite ? reached.write + (writes - 1) : reached.other
      guard number > known else {
        // Each record that is looked at is decrypted.
        let isAll = !isWrite && known == newest[tree]?.other
        let last = isAll ? reached.write + (writes - 1) : known
        return last < .max ? .jump(key.prefix(4) + StoreKey.number(last + 1)) : .next
      }
      guard incidents.count < max(1, limit), bytes < IncidentWindow.fullAt else {
        hasMore = true
        return .stop
      }
      if isWrite { reached.write = number - (writes - 1) } else { reached.other = number }
      end[tree] = reached
      if let incident = incident(key, Bytes(value)), isWanted(incident) {
        incidents.append(incident)
        bytes += incident.bytes.count
      }
      return .next
    }
    return IncidentWindow(
      incidents: incidents, end: IncidentPosition(end), hasMore: hasMore)
  }

  /// Whether there is a report of a kind that a closure tells.
  static func contains(
    _ view: any OrderedView, where isSought: (Incident) -> Bool
  ) throws(StoreError) -> Bool {
    let found = try window(view, after: IncidentPosition(), limit: 1, where: isSought)
    return !found.incidents.isEmpty
  }

  /// The trees of which there are reports.
  private static func trees(_ view: any OrderedView) throws(StoreError) -> [TreeID] {
    var trees: [TreeID] = []
    try view.walkKeys(Spaces.incidents, .atOrAfter([])) { key, _ in
      let key = Bytes(key)
      guard key.count == keyLength else { return .next }
      trees.append(StoreKey.tree(key))
      return StoreKey.end(of: Bytes(key.prefix(4))).map { .jump($0) } ?? .stop
    }
    return trees
  }

  /// The numbers of a tree's newest reports.
  private static func newest(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> IncidentPosition.Newest {
    let prefix = StoreKey.prefix(tree)
    let write = try newest(view, prefix, in: writes...(.max))
    let other = try newest(view, prefix, in: 1...(writes - 1))
    return IncidentPosition.Newest(write: write.map { $0 - writes + 1 } ?? 0, other: other ?? 0)
  }

  /// A report by its record; nil when that cannot be read.
  private static func incident(_ key: Bytes, _ value: Bytes) -> Incident? {
    guard let payload = Record.open(Spaces.incidents, key, value) else { return nil }
    var reader = ByteReader(payload)
    guard let code = reader.byte(), let kind = codes.first(where: { $0.1 == code })?.0,
      let place = reader.text(), let bytes = reader.take(reader.remaining)
    else { return nil }
    return Incident(kind: kind, tree: StoreKey.tree(key), place: place, bytes: bytes)
  }
}
