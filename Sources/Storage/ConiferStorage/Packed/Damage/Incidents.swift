import ConiferKeyValue
import ConiferLeafStore

/// Reports of damage, with the bytes that were found.
///
/// Key: tree, then a number of eight bytes. Payload: kind, place in words, bytes.
enum Incidents {
  /// How many bytes of a damaged cache range are kept; queued writes are kept whole.
  static let keptOfCache = 64 << 10

  private static let codes: [(Incident.Kind, UInt8)] = [
    (.cacheRangeDropped, 1), (.rangeSetAside, 2), (.writeSetAside, 3), (.recordSetAside, 4),
  ]

  /// Whether this version knows the kind of a report by its number.
  static func isKnown(_ code: UInt8) -> Bool { codes.contains { $0.1 == code } }

  /// How many reports a tree keeps beside those of queued writes: the oldest one goes for a new one.
  static let mostKept = 256
  /// Reports of queued writes have numbers from here on: they hold bytes that are nowhere else, and
  /// never go.
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
    if !isWrite { try forgetOldest(tx, prefix, newest: number) }
  }

  /// The number behind the last one of a range.
  ///
  /// Counting never reaches the end of a range. A report that is found there moves behind the others; an
  /// unreadable one is removed.
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

  /// Makes room for a report.
  private static func forgetOldest(
    _ tx: LeafTransaction, _ prefix: Bytes, newest: UInt64
  ) throws(StoreError) {
    guard let (key, value) = try tx.first(Spaces.incidents, atOrAfter: prefix),
      key.starts(with: prefix), newest - min(newest, StoreKey.number(atEndOf: key)) >= mostKept
    else { return }
    // Older stores numbered all reports in one range.
    if let payload = Record.open(Spaces.incidents, key, value), payload.first == 3 {
      let number = try next(tx, prefix, in: writes..<(.max))
      try tx.put(Spaces.incidents, prefix + StoreKey.number(number), payload: payload)
    }
    try tx.delete(Spaces.incidents, key)
  }

  static func all(_ view: any OrderedView) throws(StoreError) -> [Incident] {
    var incidents: [Incident] = []
    for (key, value) in try view.entries(Spaces.incidents, prefix: []) {
      guard let payload = Record.open(Spaces.incidents, key, value) else { continue }
      var reader = ByteReader(payload)
      guard let code = reader.byte(), let kind = codes.first(where: { $0.1 == code })?.0,
        let place = reader.text(), let bytes = reader.take(reader.remaining)
      else { continue }
      incidents.append(
        Incident(kind: kind, tree: StoreKey.tree(key), place: place, bytes: bytes))
    }
    return incidents
  }
}
