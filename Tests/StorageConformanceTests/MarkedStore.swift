import ConiferKeyValue
import ConiferLog
import Synchronization
import TestSupport

/// A log whose commits a test may refuse or change, and that may report what it lost.
final class MarkedStore: ForwardingStore {
  struct Behavior {
    /// Whether a batch finds the disk full.
    var refuses: @Sendable (Batch) -> Bool = { _ in false }
    /// What is stored in place of a batch.
    var change: @Sendable (Batch) -> Batch = { $0 }
    var findings: [StoreFinding] = []
    /// Whether suspending fails, once the files are released.
    var failsSuspending = false
  }

  let base: LogStore
  let behavior = Mutex(Behavior())

  init(_ directory: String) throws(StoreError) { base = try LogStore(at: directory) }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    let (refuses, change) = behavior.withLock { ($0.refuses, $0.change) }
    if refuses(batch) { throw StoreError(.full, "There is no room, says the test.") }
    return try base.apply(change(batch), durability)
  }

  func suspend() throws(StoreError) {
    try base.suspend()
    if behavior.withLock({ $0.failsSuspending }) {
      throw StoreError(.io, "The sync failed, says the test.")
    }
  }
  var findings: [StoreFinding] { behavior.withLock { $0.findings } }
  func acknowledgeFindings() throws(StoreError) { behavior.withLock { $0.findings = [] } }
}

extension Batch {
  /// Whether it stores something in a space.
  func puts(_ id: UInt8) -> Bool {
    edits.contains { edit in
      if case .put(let space, _, _) = edit { space.id == id } else { false }
    }
  }

  /// The batch without what it stores under a key.
  func without(_ id: UInt8, _ key: [UInt8]) -> Batch {
    var batch = Batch()
    for edit in edits {
      switch edit {
      case .put(let space, let other, let value):
        if space.id != id || other != key { batch.put(space, other, value) }
      case .delete(let space, let key): batch.delete(space, key)
      case .clear(let space, let from, let to): batch.clear(space, from: from, to: to)
      }
    }
    return batch
  }
}
