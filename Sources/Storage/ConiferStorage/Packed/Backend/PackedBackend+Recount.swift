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
    try finishMending()
    let view = try store.view()
    defer { view.close() }
    var drift: [String] = []
    for info in try Trees.all(view) {
      var stored = try UsageRow.read(view, info.id)
      let counted = try Recount.whole(view, info.id)
      stored.bytes = stored.bytes.filter { $0.value != 0 }
      if stored != counted { drift.append("tree \(info.name) stores \(stored), not \(counted)") }
    }
    return drift
  }

  /// Waits until trees that lost something are mended.
  func finishMending() throws(StoreError) {
    try waiting { (engine) throws(StoreError) in try engine.mender.finish() }
  }
}
