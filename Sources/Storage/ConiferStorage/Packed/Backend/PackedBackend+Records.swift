package import ConiferKeyValue
import ConiferLeafStore

/// A record as it stands in a store.
package struct StoredRecord: Sendable {
  package let space: Space
  package let key: Bytes
  package let value: Bytes
}

/// A backend with the records of a `PackedBackend`. The conformance kit counts these and changes
/// them directly.
package protocol PackedRecords: StorageBackend {
  /// The trees whose stored usage differs from a scan of their records, in words.
  ///
  /// - Throws: `damaged`, `io`, `closed`, `suspended`.
  func usageDrift() throws(StoreError) -> [String]
  /// All records, by space and key.
  ///
  /// - Throws: `damaged`, `io`, `closed`, `suspended`.
  func records() throws(StoreError) -> [StoredRecord]
  /// Replaces all records, and returns another backend on the same store; this one must not be used
  /// after that.
  ///
  /// - Throws: as opening a store.
  func replaced(
    by records: [StoredRecord], _ options: StorageOptions
  ) async throws(StoreError) -> any StorageBackend
}

extension StoredRecord {
  /// The same payload under another key, as if it had been written there.
  package func moved(to key: Bytes) -> StoredRecord {
    StoredRecord(
      space: space, key: key,
      value: Record.seal(space, key, Bytes(value.dropFirst(Record.overhead))))
  }

  /// Another value under the key, as it is.
  package func holding(_ value: Bytes) -> StoredRecord {
    StoredRecord(space: space, key: key, value: value)
  }
}

extension PackedBackend: PackedRecords {
  package func records() throws(StoreError) -> [StoredRecord] {
    let view = try store.view()
    defer { view.close() }
    var records: [StoredRecord] = []
    for space in Spaces.all {
      for (key, value) in try view.entries(space, prefix: []) {
        records.append(StoredRecord(space: space, key: key, value: value))
      }
    }
    return records
  }

  package func replaced(
    by records: [StoredRecord], _ options: StorageOptions
  ) async throws(StoreError) -> any StorageBackend {
    var batch = Batch()
    for space in Spaces.all {
      batch.clear(space, from: [], to: Bytes(repeating: 0xFF, count: 64))
    }
    for record in records { batch.put(record.space, record.key, record.value) }
    let changes = batch
    try await run { (engine) throws(StoreError) in
      engine.stop()
      let store = engine.writer.store
      _ = try store.apply(changes, min(.process, store.traits.strongest))
    }
    return try packed(store, traits.name, options)
  }

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
