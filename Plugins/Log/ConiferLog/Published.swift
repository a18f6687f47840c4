@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

/// What views and `size` see of a store, changed when a commit has become what it was asked to be.
final class Published: Sendable {
  struct State: Sendable {
    var snapshot = Snapshot()
    /// About what the tail takes in memory, and the part of it that only says what is gone.
    var tailBytes = 0
    var goneBytes = 0
    /// Bytes of files that are neither segments nor tables.
    var otherBytes = 0
    /// The keys in the tail that owe, and how often the tail was folded.
    var owing: [Bytes] = []
    var folds = 0
  }

  let state = Mutex(State())
  private let debt = Mutex(Debt())

  /// What the first keys that owe have made dead.
  private struct Debt {
    var folds = 0
    var count = 0
    var bytes = 0
  }

  /// Lets go of the files once the store is over: closed views know this too.
  func end() { state.withLock { $0 = State() } }

  /// Bytes that count as live in segments and tables until the next fold and are dead; each key is
  /// looked up once.
  func owedBytes(_ state: State) -> Int {
    debt.withLock { debt in
      if debt.folds != state.folds { debt = Debt(folds: state.folds) }
      while debt.count < state.owing.count {
        let key = state.owing[debt.count]
        debt.count += 1
        guard let found = try? state.snapshot.findInTables(key) else { continue }
        // Its entry in the index, which shares about half of its key with its neighbour.
        debt.bytes += key.count / 2 + found.weight - 16
        if case .value(let pointer) = found { debt.bytes += pointer.weight(key) }
      }
      return debt.bytes
    }
  }
}

extension Published.State {
  /// Changes what is known of a key, as a commit does.
  mutating func set(_ key: Bytes, _ slot: Slot) {
    snapshot.version += 1
    if slot != .gone, !snapshot.gaps.isEmpty { snapshot.gaps.put(key) }
    var owes = !snapshot.tables.isEmpty
    if let old = snapshot.tail[key] {
      if case .value(let pointer) = old.slot { count(pointer, key, -1) }
      weigh(key, old.slot, -1)
      owes = old.owes
    } else if owes {
      owing.append(key)
    }
    if case .value(let pointer) = slot { count(pointer, key, 1) }
    if case .gone = slot, snapshot.tables.isEmpty {
      snapshot.tail[key] = nil
    } else {
      snapshot.tail[key] = TailEntry(slot: slot, owes: owes)
      weigh(key, slot, 1)
    }
  }

  private mutating func weigh(_ key: Bytes, _ slot: Slot, _ sign: Int) {
    let bytes = sign * (key.count + slot.weight)
    tailBytes += bytes
    if slot == .gone { goneBytes += bytes }
  }

  /// Remembers that all keys of a stretch are gone, unless a commit came since that was seen.
  mutating func remember(gone low: Bytes, upTo high: Bytes, in seen: Snapshot) {
    if snapshot.version == seen.version { snapshot.gaps.add(low, high) }
  }

  /// Points a key to a copy of its value.
  mutating func move(_ key: Bytes, from old: Pointer, to new: Pointer) {
    count(old, key, -1)
    count(new, key, 1)
    let known = snapshot.tail[key]
    if known == nil { weigh(key, .value(new), 1) }
    snapshot.tail[key] = TailEntry(slot: .value(new), owes: known?.owes ?? false)
  }

  /// What tables know of the keys in the tail and still counts as live, though it is dead, by
  /// segment. What cannot be read is left out, so that live bytes are never counted too low.
  var owed: [UInt64: Int] {
    guard !snapshot.tables.isEmpty else { return [:] }
    var owed: [UInt64: Int] = [:]
    snapshot.tail.forEach { key, entry in
      if entry.owes, let debt = snapshot.debt(key) {
        owed[debt.segment.number, default: 0] += debt.bytes
      }
    }
    return owed
  }

  /// Bytes that count as live, and those of all files; what the tail owes is live among them.
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
