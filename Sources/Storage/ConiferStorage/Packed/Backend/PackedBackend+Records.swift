package import ConiferKeyValue

/// A record as it stands in a store.
package struct HeldRecord: Sendable {
  package let space: Space
  package let key: Bytes
  package let value: Bytes
}

/// A backend whose records can be changed behind its back.
package protocol RecordHolding {
  /// All records, by space and key.
  ///
  /// - Throws: `damaged`, `io`, `closed`, `suspended`.
  func records() throws(StoreError) -> [HeldRecord]
  /// Replaces all records, and gives another backend on the same store; this one must not be used then.
  ///
  /// - Throws: as opening a store.
  func replaced(
    by records: [HeldRecord], _ options: StorageOptions
  ) async throws(StoreError) -> any StorageBackend
}

extension HeldRecord {
  /// The same payload under another key, as if it had been written there.
  package func moved(to key: Bytes) -> HeldRecord {
    HeldRecord(
      space: space, key: key,
      value: Record.seal(space, key, Bytes(value.dropFirst(Record.overhead))))
  }

  /// Another value under the key, as it is.
  package func holding(_ value: Bytes) -> HeldRecord {
    HeldRecord(space: space, key: key, value: value)
  }
}

extension PackedBackend: RecordHolding {
  package func records() throws(StoreError) -> [HeldRecord] {
    let view = try store.view()
    defer { view.close() }
    var records: [HeldRecord] = []
    for space in Spaces.all {
      for (key, value) in try view.entries(space, prefix: []) {
        records.append(HeldRecord(space: space, key: key, value: value))
      }
    }
    return records
  }

  package func replaced(
    by records: [HeldRecord], _ options: StorageOptions
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
}
