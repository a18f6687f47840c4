package import ConiferKeyValue

/// A backend whose stored counts can be compared with a count of its records.
package protocol UsageRecounting {
  /// The trees whose stored usage is not what a scan of their records counts, in words.
  ///
  /// - Throws: `damaged`, `io`, `closed`, `suspended`.
  func usageDrift() throws(StoreError) -> [String]
}

extension PackedBackend: UsageRecounting {
  /// The trees whose stored usage is not what a scan of their records counts, in words.
  ///
  /// - Throws: as ``UsageRecounting`` says.
  package func usageDrift() throws(StoreError) -> [String] {
    let tx = Transaction(try store.view())
    defer { tx.close() }
    var drift: [String] = []
    for info in try Trees.all(tx) {
      var stored = try UsageRow.read(tx, info.id)
      try Repair(
        tx, codec: engine.codec, longestKey: store.traits.longestKey,
        shape: RunShape(store.traits, traits.compression)
      ).recount(info.id)
      var counted = try tx.usage(info.id)
      stored.bytes = stored.bytes.filter { $0.value != 0 }
      counted.bytes = counted.bytes.filter { $0.value != 0 }
      if stored != counted { drift.append("tree \(info.name) stores \(stored), not \(counted)") }
    }
    return drift
  }
}
