package import ConiferKeyValue
import Synchronization

/// A run unpacked: its entries with its deltas laid over them, and what its records count.
///
/// It is a function of the stored bytes that it keeps, so that whoever finds these bytes stored may
/// use it, in any view.
package final class DecodedRun: Sendable {
  /// A delta as it is stored, and what its head counts.
  package struct Delta: Sendable {
    package let key: Bytes
    package let value: Bytes
    package let leaves: Int
    package let rawCount: Int
  }

  package let head: RunHead
  /// Oldest first.
  package let deltas: [Delta]
  package let entries: EntryList
  /// Made when a leaf is first looked for.
  private let table = AtomicLazyReference<KeyTable>()

  package init(_ head: RunHead, _ deltas: [Delta], _ entries: EntryList) {
    self.head = head
    self.deltas = deltas
    self.entries = entries
  }

  /// Leaves of the run with its deltas.
  package var leaves: Int { head.count + deltas.reduce(0) { $0 + $1.leaves } }

  /// Uncompressed bytes of the run and of its deltas.
  package var raw: RawBytes {
    RawBytes(runs: head.rawCount, deltas: deltas.reduce(0) { $0 + $1.rawCount })
  }

  /// About what it takes in memory.
  package var size: Int {
    let own = head.value.count + head.storeKey.count + entries.size + KeyTable.size(entries.count)
    return deltas.reduce(256 + own) { $0 + 128 + $1.key.count + $1.value.count }
  }

  /// The entry of exactly a key; nil when there is none.
  package func index(of key: Bytes) -> Int? {
    guard let table = table.load() ?? KeyTable(entries).map({ table.storeIfNil($0) }) else {
      return nil
    }
    return key.withUnsafeBytes { key in entries.lend { table.find(key, in: $0) } }
  }

  /// The head, with the run at hand.
  package var kept: RunHead {
    var head = head
    head.decoded = self
    return head
  }

  /// The head, with the run at hand as it is now.
  package var current: RunHead {
    var head = kept
    head.isCurrent = true
    return head
  }

  /// The run with more deltas laid over it.
  ///
  /// - Throws: `damaged`, `unsupported`.
  package func laying(
    _ records: [(key: Bytes, value: Bytes)], _ source: DictionarySource
  ) throws(StoreError) -> DecodedRun {
    guard !records.isEmpty else { return self }
    var deltas = deltas
    var changes: [EntryChange] = []
    for (key, value) in records {
      let delta = try DeltaRecord(key: key, value: value, source)
      changes += delta.changes
      deltas.append(
        Delta(key: key, value: value, leaves: delta.head.leaves, rawCount: delta.head.rawCount))
    }
    return DecodedRun(head, deltas, entries.merged(changes))
  }

  /// Whether a lent record is the one that this run was read from.
  package func isStored(as key: RawSpan, _ value: RawSpan) -> Bool {
    key.equals(head.storeKey) && value.equals(head.value)
  }
}

extension RawSpan {
  /// Whether the bytes are the same.
  package func equals(_ other: Bytes) -> Bool {
    guard byteCount == other.count else { return false }
    return withUnsafeBytes { lent in other.withUnsafeBytes { compareBytes(lent, $0) == 0 } }
  }
}
