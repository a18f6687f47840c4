import ConiferKeyValue
import ConiferLeafStore

/// Continues without records that the store itself lost and cannot name.
extension Repairer {
  /// Leaves out what the store cannot read, if the error says that this is the reason and it may be
  /// left out.
  ///
  /// - Returns: whether the failed operation may be tried again.
  func recover(after error: StoreError) throws(StoreError) -> Bool {
    guard error.code == .damaged, error.place == nil, policy.role == .cache else { return false }
    return try recover()
  }

  /// Leaves out what the store reports as lost; false when it reports nothing.
  func recover() throws(StoreError) -> Bool {
    let findings = writer.store.findings
    guard !findings.isEmpty else { return false }
    try recover(from: findings)
    return true
  }

  /// Leaves out what the store could not read, and finishes what an earlier opening began.
  ///
  /// - Throws: `damaged` for an authority, whose data must not go missing silently, and for a store
  ///   whose registry of trees may be incomplete.
  func recover(from findings: [StoreFinding]) throws(StoreError) {
    if let first = findings.first {
      guard policy.role == .cache else {
        throw StoreError(
          .damaged,
          "Data that had been durable is lacking: \(first.words). Put back a copy of the store, or "
            + "open it as a cache to go on without them; nothing was changed.")
      }
      if let lost = findings.first(where: { $0.spaces?.contains(Spaces.system.id) == true }) {
        throw StoreError(
          .damaged,
          "The list of trees may be lacking: \(lost.words). Put back a copy of the store, or make a "
            + "new one; nothing was changed.")
      }
      // The remaining records must be consistent before they are read, even if the process dies in
      // between.
      let marker = try writer.read { (view) throws(StoreError) in
        try RecoveryMarker.set(view, lost: findings.map(\.words))
      }
      try writer.apply(marker, min(.power, writer.store.traits.strongest))
      try writer.leaves.change { (store) throws(StoreError) in try store.acknowledgeFindings() }
    }
    guard try writer.read(RecoveryMarker.isSet) else { return }
    // Trees are made consistent one by one; the marker stays until all are.
    for info in try writer.read(Trees.readable) {
      try retryingChange(.process) { (repair) throws(StoreError) in try repair.reconcile(info) }
    }
    try retryingChange(.power) { (repair) throws(StoreError) in
      try repair.report(try RecoveryMarker.clear(repair.tx))
    }
  }

  /// Makes the records of a tree or lane consistent after some of them were removed.
  func reconcile(_ scope: StoreScope) throws(StoreError) {
    try retryingChange(.process) { (repair) throws(StoreError) in try repair.reconcile(scope) }
  }

  private func retryingChange(
    _ durability: Durability, _ body: (RecordRepair) throws(StoreError) -> Void
  ) throws(StoreError) {
    try retrying { (_) throws(StoreError) in try change(durability, body) }
  }
}

/// The recovery marker: the store has lost records, and the remaining ones are not consistent yet.
/// It lists what was lost, in words, in tree 0 of the system space.
enum RecoveryMarker {
  private static let key = SystemKey.recovery.bytes

  static func isSet(_ view: any OrderedView) throws(StoreError) -> Bool {
    try view.get(Spaces.system, key) { _ in } != nil
  }

  /// A batch that sets it, before the store is used. The marker is not counted, since the counts
  /// may be damaged.
  static func set(_ view: any OrderedView, lost words: [String]) throws(StoreError) -> Batch {
    var writer = ByteWriter()
    for text in try lost(view) + words { writer.sized(text) }
    var batch = Batch()
    batch.put(Spaces.system, key, Record.seal(Spaces.system, key, writer.bytes))
    return batch
  }

  /// Clears it, in the commit that makes the records consistent.
  ///
  /// - Returns: what was lost.
  static func clear(_ tx: LeafTransaction) throws(StoreError) -> [String] {
    let words = try lost(tx)
    try tx.delete(Spaces.system, key)
    return words
  }

  private static func lost(_ view: any OrderedView) throws(StoreError) -> [String] {
    guard let value = try view.value(Spaces.system, key) else { return [] }
    // A marker whose text cannot be read still shows that something was lost.
    var reader = ByteReader(Record.open(Spaces.system, key, value) ?? [])
    var words: [String] = []
    while let text = reader.text() { words.append(text) }
    return words
  }
}
