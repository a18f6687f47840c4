import ConiferKeyValue

/// Reports of damage, with the bytes that were found.
///
/// Key: tree, then a number of eight bytes. Payload: kind, place in words, bytes.
enum Incidents {
  /// How many bytes of a damaged cache range are kept; queued writes are kept whole.
  static let keptOfCache = 64 << 10

  private static let codes: [(Incident.Kind, UInt8)] = [
    (.cacheRangeDropped, 1), (.rangeSetAside, 2), (.writeSetAside, 3), (.recordSetAside, 4),
  ]

  static func add(_ tx: Transaction, _ incident: Incident) throws(StoreError) {
    let prefix = StoreKey.prefix(incident.tree)
    let last = try tx.keys(Spaces.incidents, prefix: prefix).last.map { IndexKey.number($0) } ?? 0
    var writer = ByteWriter()
    writer.byte(codes.first { $0.0 == incident.kind }?.1 ?? 4)
    writer.sized(incident.place)
    writer.append(incident.bytes)
    try tx.put(Spaces.incidents, prefix + StoreKey.number(last + 1), payload: writer.bytes)
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
