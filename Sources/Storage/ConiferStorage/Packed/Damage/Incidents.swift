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

  static func add(_ tx: LeafTransaction, _ incident: Incident) throws(StoreError) {
    let prefix = StoreKey.prefix(incident.tree)
    let isWrite = incident.kind == .writeSetAside
    let number = try next(tx, prefix, in: isWrite ? writes..<(.max) : 1..<writes)
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
    _ tx: LeafTransaction, _ prefix: Bytes, in range: Range<UInt64>
  ) throws(StoreError) -> UInt64 {
    var end = range.upperBound - 1
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
    _ tx: LeafTransaction, _ prefix: Bytes, in range: ClosedRange<UInt64>
  ) throws(StoreError) -> UInt64? {
    var last: UInt64?
    let end = prefix + StoreKey.number(range.upperBound)
    try tx.walkKeys(Spaces.incidents, .atOrBefore(end)) { key, _ in
      if key.starts(with: prefix), key.byteCount == 12 {
        last = StoreKey.number(atEndOf: Bytes(key))
      }
      return .stop
    }
    return last.flatMap { range.contains($0) ? $0 : nil }
  }

  /// Removes the oldest report when there are too many.
  private static func forgetOldest(
    _ tx: LeafTransaction, _ prefix: Bytes, newest: UInt64
  ) throws(StoreError) {
    guard let (key, value) = try tx.first(Spaces.incidents, atOrAfter: prefix),
      key.starts(with: prefix),
      newest - min(newest, StoreKey.number(atEndOf: key)) >= maximumReports
    else { return }
    // Older stores numbered all reports in one range.
    if let payload = Record.open(Spaces.incidents, key, value), payload.first == 3 {
      let number = try next(tx, prefix, in: writes..<(.max))
      try tx.put(Spaces.incidents, prefix + StoreKey.number(number), payload: payload)
    }
    try tx.delete(Spaces.incidents, key)
  }

  /// The position after the last report.
  static func position(_ view: any OrderedView) throws(StoreError) -> IncidentPosition {
    position(of: try view.keys(Spaces.incidents, prefix: []))
  }

  private static func position(of keys: [Bytes]) -> IncidentPosition {
    var newest: [TreeID: IncidentPosition.Newest] = [:]
    for key in keys where key.count == 12 {
      let number = StoreKey.number(atEndOf: key)
      // No report gets this number.
      guard number < .max else { continue }
      var known = newest[StoreKey.tree(key)] ?? IncidentPosition.Newest()
      if number < writes {
        known.other = max(known.other, number)
      } else {
        known.write = max(known.write, number - writes + 1)
      }
      newest[StoreKey.tree(key)] = known
    }
    return IncidentPosition(newest)
  }

  /// The reports after a position, by tree; in each tree those of writes come last.
  static func all(
    _ view: any OrderedView, after position: IncidentPosition
  ) throws(StoreError) -> [Incident] {
    let keys = try view.keys(Spaces.incidents, prefix: [])
    let newest = Self.position(of: keys).newest
    // Numbers become smaller when a forged last one was found; then all reports are returned again.
    func isKnown(_ number: UInt64, _ last: UInt64, _ newest: UInt64) -> Bool {
      last <= newest && number <= last
    }
    var incidents: [Incident] = []
    for key in keys where key.count == 12 {
      let number = StoreKey.number(atEndOf: key)
      guard number < .max else { continue }
      let known = position.newest[StoreKey.tree(key)] ?? IncidentPosition.Newest()
      let last = newest[StoreKey.tree(key)] ?? IncidentPosition.Newest()
      let isOld =
        number < writes
        ? isKnown(number, known.other, last.other)
        : isKnown(number - writes + 1, known.write, last.write)
      guard !isOld, let value = try view.value(Spaces.incidents, key),
        let incident = incident(key, value)
      else { continue }
      incidents.append(incident)
    }
    return incidents
  }

  static func all(_ view: any OrderedView) throws(StoreError) -> [Incident] {
    var incidents: [Incident] = []
    for (key, value) in try view.entries(Spaces.incidents, prefix: []) {
      if let incident = incident(key, value) { incidents.append(incident) }
    }
    return incidents
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
