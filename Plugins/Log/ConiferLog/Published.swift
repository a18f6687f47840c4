@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The state that views and `size` see, updated after each commit has reached its durability.
final class Published: Sendable {
  struct State: Sendable {
    var snapshot = Snapshot()
    /// The approximate memory of the tail, and of its deletions.
    var tailBytes = 0
    var goneBytes = 0
    /// Bytes of files that are neither segments nor tables.
    var otherBytes = 0
    /// The keys in the tail whose older values still count as live, and the number of folds.
    var staleKeys: [Bytes] = []
    var folds = 0
  }

  let state = Mutex(State())
  private let stale = Mutex(Stale())

  /// The dead bytes of the first of these keys.
  private struct Stale {
    var folds = 0
    var count = 0
    var bytes = 0
  }

  /// Changes what a frame of the journal changes.
  ///
  /// - Throws: `damaged` and `io`, of tables in which a range is looked up.
  func replay(_ frame: JournalReader.Frame, _ segment: Segment) throws(StoreError) {
    let values = frame.offset + FrameHeader.size + Int(frame.header.editsLength)
    for edit in frame.edits {
      switch edit {
      case .small(let key, let value): set(key, .small(value))
      case .value(let key, var pointer):
        pointer.segment = segment.number
        pointer.offset &+= UInt32(truncatingIfNeeded: values)
        set(key, .value(pointer))
      case .delete(let key): set(key, .gone)
      case .clear(let from, let to):
        for key in try snapshot.keys(from: from, to: to) { set(key, .gone) }
      }
    }
  }

  /// The snapshot of the newest commit.
  var snapshot: Snapshot { state.withLock { $0.snapshot } }

  private func set(_ key: Bytes, _ slot: Slot) { state.withLock { $0.set(key, slot) } }

  /// Releases the files when the store is closed; closed views hold this object too.
  func end() { state.withLock { $0 = State() } }

  /// Dead bytes that still count as live in segments and tables until the next fold; each key is
  /// looked up once.
  func staleBytes(_ state: State) -> Int {
    stale.withLock { stale in
      if stale.folds != state.folds { stale = Stale(folds: state.folds) }
      while stale.count < state.staleKeys.count {
        let key = state.staleKeys[stale.count]
        stale.count += 1
        guard let found = try? state.snapshot.findInTables(key) else { continue }
        // Its entry in the index; about half of the key is shared with its neighbour.
        stale.bytes += key.count / 2 + found.weight - 16
        if case .value(let pointer) = found { stale.bytes += pointer.weight(key) }
      }
      return stale.bytes
    }
  }
}

extension Published.State {
  /// Sets the entry of a key, as a commit does.
  mutating func set(_ key: Bytes, _ slot: Slot) {
    snapshot.version += 1
    if slot != .gone, !snapshot.gaps.isEmpty { snapshot.gaps.put(key) }
    var hasStaleValue = !snapshot.tables.isEmpty
    if let old = snapshot.tail[key] {
      if case .value(let pointer) = old.slot { count(pointer, key, -1) }
      weigh(key, old.slot, -1)
      hasStaleValue = old.hasStaleValue
    } else if hasStaleValue {
      staleKeys.append(key)
    }
    if case .value(let pointer) = slot { count(pointer, key, 1) }
    if case .gone = slot, snapshot.tables.isEmpty {
      snapshot.tail[key] = nil
    } else {
      snapshot.tail[key] = TailEntry(slot: slot, hasStaleValue: hasStaleValue)
      weigh(key, slot, 1)
    }
  }

  private mutating func weigh(_ key: Bytes, _ slot: Slot, _ sign: Int) {
    let bytes = sign * (key.count + slot.weight)
    tailBytes += bytes
    if slot == .gone { goneBytes += bytes }
  }

  /// Remembers that all keys of a range are deleted, unless a commit came since the range was seen.
  mutating func remember(gone low: Bytes, upTo high: Bytes, in seen: Snapshot) {
    if snapshot.version == seen.version { snapshot.gaps.add(low, high) }
  }

  /// Points a key to a copy of its value.
  mutating func move(_ key: Bytes, from old: Pointer, to new: Pointer) {
    count(old, key, -1)
    count(new, key, 1)
    let known = snapshot.tail[key]
    if known == nil { weigh(key, .value(new), 1) }
    snapshot.tail[key] = TailEntry(slot: .value(new), hasStaleValue: known?.hasStaleValue ?? false)
  }

  /// The dead bytes of the tail's keys in tables that still count as live, by segment. Unreadable
  /// entries are left out, so that live bytes are never counted too low.
  var staleBytes: [UInt64: Int] {
    guard !snapshot.tables.isEmpty else { return [:] }
    var bytes: [UInt64: Int] = [:]
    snapshot.tail.forEach { key, entry in
      if entry.hasStaleValue, let stale = snapshot.staleValue(key) {
        bytes[stale.segment.number, default: 0] += stale.bytes
      }
    }
    return bytes
  }

  /// Bytes that count as live, including the tail's dead ones, and bytes of all files.
  var size: (live: Int, file: Int) {
    var (live, file) = (tailBytes - goneBytes, otherBytes)
    for table in snapshot.tables {
      live += table.entry.live
      file += table.entry.length
    }
    for segment in snapshot.segments.values {
      live += max(0, segment.live)
      file += segment.allocated
    }
    return (live, file)
  }

  private func count(_ pointer: Pointer, _ key: Bytes, _ sign: Int) {
    guard let segment = snapshot.segments[pointer.segment] else { return }
    segment.live += sign * pointer.weight(key)
  }
}
