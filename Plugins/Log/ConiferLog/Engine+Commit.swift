@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// How far ahead of a small durable commit zeros are written. The next commits then overwrite
  /// allocated blocks, so the file system need not update its own metadata at each sync.
  private static let zerosAhead = 64 << 10

  /// Applies a batch and makes it as durable as asked; then does housekeeping that is due.
  ///
  /// - Throws: `tooLarge`, `full`, `damaged` (the index, for a `clear`), `io`, `poisoned`.
  func commit(_ batch: Batch, _ durability: Durability) throws(StoreError) {
    var changes = SortedBytes<Slot>()
    let usesReserve = batch.makesRoom
    if !batch.isEmpty {
      changes = try append(batch, isDurable: durability == .power, usesReserve: usesReserve)
    }
    if durability == .power { try harden() }
    published.state.withLock { state in
      changes.forEach { key, slot in state.set(key, slot) }
    }
    // The commit is done: errors of housekeeping concern the next ones.
    do throws(StoreError) {
      try doHousekeeping(usesReserve: usesReserve)
    } catch {
      if error.code != .full, error.code != .damaged, poison == nil { poison = error }
    }
  }

  /// Writes a batch's frame.
  ///
  /// - Returns: what changes in the index.
  private func append(
    _ batch: Batch, isDurable: Bool, usesReserve: Bool
  ) throws(StoreError) -> SortedBytes<Slot> {
    let snapshot = snapshot
    var frame = FrameWriter()
    var fresh = SortedBytes<Slot>()
    for edit in batch.edits {
      switch edit {
      case .put(let space, let key, let value):
        fresh[space.stored(key)] = try frame.put(space, key, value)
      case .delete(let space, let key):
        try frame.delete(space, key)
        fresh[space.stored(key)] = .gone
      case .clear(let space, let from, let to):
        guard bytesPrecede(from, to) else { continue }
        try frame.clear(space, from: from, to: to)
        let (low, high) = (space.stored(from), space.stored(to))
        fresh.removeAll(from: low, to: high)
        for key in try snapshot.keys(from: low, to: high) { fresh[key] = .gone }
      }
    }
    try makeRoom(frame.total, usesReserve: usesReserve)
    try write(frame, isDurable: isDurable)
    guard let active else { return fresh }
    let values = UInt32(active.position - frame.total + frame.valuesStart)
    var changes = SortedBytes<Slot>()
    fresh.forEach { key, slot in
      guard case .value(var pointer) = slot else { return changes[key] = slot }
      pointer.segment = active.segment.number
      pointer.offset += values
      changes[key] = .value(pointer)
    }
    return changes
  }

  /// Writes a frame at the journal's end, where space was allocated.
  private func write(_ frame: FrameWriter, isDurable: Bool) throws(StoreError) {
    guard var active else { return }
    let total = frame.total
    var header = FrameHeader(
      editsLength: 0, valuesLength: 0, syncedEnd: UInt32(active.synced), sequence: sequence,
      previous: previous, salt: salt, editsSum: 0)
    let seed = FrameHeader.seed(manifest.store, active.segment.number, active.position)
    var bytes = frame.bytes(&header, seed)
    let end = active.position + total
    if isDurable, end > active.written, total < Self.zerosAhead {
      let ahead = min(active.capacity, (end / Self.zerosAhead + 1) * Self.zerosAhead)
      if ahead > end { bytes.append(contentsOf: repeatElement(0, count: ahead - end)) }
    }
    do throws(FileFailure) {
      try active.file.writeAll(bytes, at: active.position)
    } catch {
      // The disk is full inside a frame: without its first bytes the frame is ignored.
      if error.meansFull {
        do throws(FileFailure) {
          try active.file.writeAll(Bytes(repeating: 0, count: 8), at: active.position)
        } catch { poison = error.error("write", active.segment.path) }
      }
      throw writeFailed(error, "write", active.segment.path)
    }
    active.written = max(active.written, active.position + bytes.count)
    active.position = end
    active.isDirty = true
    self.active = active
    active.segment.length = end
    if end > active.segment.allocated {
      active.segment.allocated = end
    }
    sequence += 1
    previous = header.sum
  }

  /// Makes the active segment long enough for a number of bytes.
  ///
  /// - Parameter usesReserve: whether the bytes may use the reserve, as the commit frees space.
  private func makeRoom(_ count: Int, usesReserve: Bool) throws(StoreError) {
    if hasUsedReserve, !usesReserve {
      setReserve()
      if hasUsedReserve { throw FileFailure.full.error("write", directory) }
    }
    if let active {
      if active.position + count <= active.capacity { return }
      // The segment was truncated at the last close, so it is lengthened again. While damage is not
      // acknowledged, the journal grows instead of being folded, so that the next opening finds the
      // damage again.
      let end = active.position + count
      let length = lost.isEmpty ? options.segment : max(options.segment, end)
      if active.capacity < length, end <= length, length <= FrameWriter.limit {
        do throws(StoreError) {
          return try extend(to: length)
        } catch {
          guard error.code == .full else { throw error }
        }
      }
    }
    do throws(StoreError) {
      try fold(rolling: max(options.segment, FileHeader.size + count))
    } catch {
      // Small commits allocate in small steps, and commits that free space use the reserve.
      guard error.code == .full, count <= Self.zerosAhead else { throw error }
      let piece = FileHeader.size + max(count, min(options.segment, Self.zerosAhead))
      do throws(StoreError) {
        try fold(rolling: piece)
      } catch {
        guard error.code == .full, usesReserve, releaseReserve() else { throw error }
        try fold(rolling: piece)
      }
    }
  }

  private func extend(to capacity: Int) throws(StoreError) {
    guard var active else { return }
    do throws(FileFailure) {
      try active.file.allocate(capacity)
    } catch { throw writeFailed(error, "make longer", active.segment.path) }
    active.capacity = capacity
    active.segment.allocated = capacity
    self.active = active
  }

  /// Folds and compacts when it is due.
  private func doHousekeeping(usesReserve: Bool) throws(StoreError) {
    guard lost.isEmpty else { return }
    let tail = published.state.withLock { $0.tailBytes }
    let journal = active.map { $0.position - manifest.position } ?? 0
    let isDue = tail > options.tail || journal > options.journal
    if isDue { try fold(usesReserve: usesReserve) }
    // A fold makes the count of dead bytes exact.
    if isDue || pass != nil { try compactIfDue() }
  }
}
