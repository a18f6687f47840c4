import ConiferKeyValue
import ConiferTree
import Synchronization

/// A run unpacked: its entries with its deltas laid over them, and what its records count.
///
/// It is a function of the stored bytes that it keeps, so that whoever finds these bytes stored may
/// use it, in any view.
final class DecodedRun: Sendable {
  /// A delta as it is stored, and what its head counts.
  struct Delta: Sendable {
    let key: Bytes
    let value: Bytes
    let leaves: Int
    let rawCount: Int
  }

  let head: RunHead
  /// Oldest first.
  let deltas: [Delta]
  let entries: EntryList
  /// Made when a leaf is first looked for.
  private let table = AtomicLazyReference<KeyTable>()

  init(_ head: RunHead, _ deltas: [Delta], _ entries: EntryList) {
    self.head = head
    self.deltas = deltas
    self.entries = entries
  }

  /// Leaves of the run with its deltas.
  var leaves: Int { head.count + deltas.reduce(0) { $0 + $1.leaves } }

  /// Uncompressed bytes of the run and of its deltas.
  var raw: RawBytes {
    RawBytes(runs: head.rawCount, deltas: deltas.reduce(0) { $0 + $1.rawCount })
  }

  /// About what it takes in memory.
  var size: Int {
    let own = head.value.count + head.storeKey.count + entries.size + KeyTable.size(entries.count)
    return deltas.reduce(256 + own) { $0 + 128 + $1.key.count + $1.value.count }
  }

  /// The leaf that is under exactly a key, or nil when there is none or it is stored elsewhere.
  func leaf(at key: Bytes) -> (Leaf, Priority?)? {
    guard let table = table.load() ?? KeyTable(entries).map({ table.storeIfNil($0) }) else {
      return nil
    }
    return key.withUnsafeBytes { key in
      entries.lend { entries in
        guard let index = table.find(key, in: entries),
          case .leaf(let leaf, let priority) = entries.leaf(index)
        else { return nil }
        return (leaf, priority)
      }
    }
  }

  /// The head, with the run at hand.
  var kept: RunHead {
    var head = head
    head.decoded = self
    return head
  }

  /// The head, with the run at hand as it is now.
  var current: RunHead {
    var head = kept
    head.isCurrent = true
    return head
  }

  /// The run with more deltas laid over it.
  ///
  /// - Throws: `damaged`, `unsupported`.
  func laying(
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
  func isStored(as key: RawSpan, _ value: RawSpan) -> Bool {
    key.equals(head.storeKey) && value.equals(head.value)
  }
}

extension RawSpan {
  /// Whether the bytes are the same.
  func equals(_ other: Bytes) -> Bool {
    guard byteCount == other.count else { return false }
    return withUnsafeBytes { lent in other.withUnsafeBytes { compareBytes(lent, $0) == 0 } }
  }
}
