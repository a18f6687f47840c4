@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// Older tables up to this many times the size of the new one are merged into it, so that there
  /// are few tables and each entry is rewritten only a few times.
  private static let mergeRatio = 3

  /// The files that a fold makes, until its manifest is durable.
  private struct Made {
    var table: Table?
    var merged: [Table] = []
    var active: Active?
    /// Names to remove when the fold fails.
    var names: [String] = []
  }

  /// Writes the tail into a table and a manifest that begins the journal here; removes files that
  /// hold nothing live.
  ///
  /// - Parameters:
  ///   - capacity: of a new active segment, or nil to keep the present one.
  ///   - isFull: whether all tables are merged.
  ///   - isForced: whether a manifest is written even if nothing has changed.
  ///   - lost: parts of tables to leave out, with the entries of their keys in older tables, since
  ///     the newest state of these keys is unknown. All tables are merged then.
  ///   - usesReserve: whether it may take the reserve of a full disk.
  /// - Throws: `full` (nothing has changed), `damaged` (an older table), `io`, `denied`.
  func fold(
    rolling capacity: Int? = nil, isFull: Bool = false, isForced: Bool = false,
    leavingOut lost: [Losses.Loss] = [], usesReserve: Bool = true
  ) throws(StoreError) {
    do throws(StoreError) {
      try foldOnce(rolling: capacity, isFull: isFull, isForced: isForced, leavingOut: lost)
    } catch {
      // Without a new segment a fold needs little space, and frees dead bytes.
      guard error.code == .full, capacity == nil, usesReserve, releaseReserve() else {
        throw error
      }
      try foldOnce(rolling: nil, isFull: isFull, isForced: isForced, leavingOut: lost)
    }
  }

  private func foldOnce(
    rolling capacity: Int?, isFull: Bool, isForced: Bool, leavingOut lost: [Losses.Loss]
  ) throws(StoreError) {
    endOutputs { $0.live <= 0 }
    let before = snapshot
    let isMoved = active.map { $0.position != manifest.position } ?? false
    let isIdle = before.tail.isEmpty && !isMoved && unsynced.isEmpty && !isFull && !isForced
    if capacity == nil, isIdle, droppable(before, active).isEmpty { return }
    try setLossesAside(lost)
    try harden()
    for (number, file) in unsynced {
      do throws(FileFailure) {
        try file.syncAll()
      } catch { throw syncFailed(error, path(number, .segment)) }
    }
    unsynced = [:]
    var made = Made()
    do throws(StoreError) {
      if lost.isEmpty {
        try writeTable(before, isFull: isFull, &made)
      } else {
        try writeTable(before, merging: before.tables, leavingOut: lost, &made)
      }
      if let capacity { made.active = try newActive(capacity, &made) }
      if !made.names.isEmpty { try syncDirectory() }
      try publish(before, made)
    } catch {
      // After a failed sync no file is touched any more: either manifest may be the valid one.
      if poison == nil { for name in made.names { try? files.remove(path(name)) } }
      throw error
    }
  }

  /// Sealed segments that no key points to.
  ///
  /// - Parameter stale: dead bytes that still count as live in them.
  private func droppable(
    _ snapshot: Snapshot, _ active: Active?, stale: [UInt64: Int] = [:]
  ) -> [Segment] {
    snapshot.segments.values.filter { segment in
      segment.live <= stale[segment.number] ?? 0 && segment.number != active?.segment.number
        && !outputs.values.contains { $0.segment === segment }
    }
  }

  /// Writes the tail, and the tables that are merged into it, into a new table.
  private func writeTable(
    _ before: Snapshot, isFull: Bool, _ made: inout Made
  ) throws(StoreError) {
    let isMerging = isFull && before.tables.count > 1
    guard isMerging || !before.tail.isEmpty else { return }
    var merged: [Table] = []
    var weight = published.state.withLock { $0.tailBytes }
    for table in before.tables where !isIndexDamaged {
      guard isMerging || table.entry.length <= weight * Self.mergeRatio else { break }
      merged.append(table)
      weight += table.entry.length
    }
    do throws(StoreError) {
      try writeTable(before, merging: merged, &made)
    } catch {
      guard error.code == .damaged, !merged.isEmpty else { throw error }
      // Unreadable tables are neither merged nor dropped: only the tail is written into a new
      // table.
      isIndexDamaged = true
      if !before.tail.isEmpty { try writeTable(before, merging: [], &made) }
    }
  }

  private func writeTable(
    _ before: Snapshot, merging merged: [Table], leavingOut lost: [Losses.Loss] = [],
    _ made: inout Made
  ) throws(StoreError) {
    let isBottom = merged.count == before.tables.count
    let number = takeNumber()
    let name = FileName(number: number, kind: .table).description
    let path = path(name)
    made.names.append(name)
    var cursor = MergedCursor(
      Snapshot(tail: before.tail, tables: merged, segments: [:]), ascends: true, leavingOut: lost)
    try cursor.seek([])
    let file = try create(path)
    var writer = TableWriter(file, store: manifest.store, number: number)
    while !cursor.isAtEnd {
      try writing("write", path) { () throws(FileFailure) in
        _ = try cursor.current { (key, slot) throws(FileFailure) in
          if cursor.isDoubtful(key) { return }
          if case .gone = slot, isBottom { return }
          try writer.add(key, slot)
        }
      }
      try cursor.next()
    }
    made.merged = merged
    guard writer.entries > 0 else {
      try? files.remove(path)
      made.names.removeLast()
      return
    }
    let (entry, index) = try writing("write", path) { () throws(FileFailure) in
      try writer.finish(number)
    }
    made.table = Table(entry, path, file, cache, losses, index: index)
  }

  private func newActive(_ capacity: Int, _ made: inout Made) throws(StoreError) -> Active {
    let number = takeNumber()
    made.names.append(FileName(number: number, kind: .segment).description)
    let (segment, file) = try newSegment(number, .journal) { (file) throws(FileFailure) in
      try file.allocate(capacity)
    }
    try writing("sync", segment.path) { () throws(FileFailure) in try file.syncAll() }
    segment.allocated = capacity
    return Active(
      segment: segment, file: file, capacity: capacity, position: FileHeader.size,
      synced: FileHeader.size, written: FileHeader.size, isDirty: false)
  }

  /// Writes a manifest of the durable files, then publishes the new state.
  private func publish(_ before: Snapshot, _ made: Made) throws(StoreError) {
    let next = made.active ?? active
    var snapshot = before
    snapshot.tail = SortedBytes()
    snapshot.tables =
      (made.table.map { [$0] } ?? []) + before.tables.dropFirst(made.merged.count)
    if let segment = made.active?.segment { snapshot.segments[segment.number] = segment }
    let stale = published.state.withLock { $0 }.staleBytes
    let dropped = droppable(snapshot, next, stale: stale)
    for segment in dropped { snapshot.segments[segment.number] = nil }

    var manifest = manifest
    manifest.generation += 1
    manifest.nextNumber = nextNumber
    manifest.sequence = sequence
    manifest.previous = previous
    manifest.active = next?.segment.number ?? 0
    manifest.position = next?.position ?? 0
    manifest.segments = snapshot.segments.values.map { segment in
      Manifest.SegmentEntry(
        number: segment.number, kind: segment.kind,
        length: segment.length,
        live: max(0, segment.live - (stale[segment.number] ?? 0)))
    }.sorted { $0.number < $1.number }
    manifest.tables = snapshot.tables.map(\.entry)
    try write(manifest)

    if made.active != nil, let old = active { seal(old) }
    active = next
    lost = []
    // Opened before its name is removed, for views that may still read it.
    for segment in dropped { segment.drop() }
    published.state.withLock { state in
      // Published together with the tail, so that no reader sees bytes counted twice.
      for (number, bytes) in stale { snapshot.segments[number]?.live -= bytes }
      state.snapshot = snapshot
      state.tailBytes = 0
      state.goneBytes = 0
      state.staleKeys = []
      state.folds += 1
    }
    for segment in dropped { try? files.remove(segment.path) }
    for table in made.merged {
      cache.forget(table.entry.number)
      losses.forget(table.entry.number)
      try? files.remove(table.path)
    }
    setReserve()
    countOthers(manifest: manifest.bytes.count)
  }

  /// Frees allocated space that was not used.
  private func seal(_ old: Active) {
    if old.capacity > old.position, (try? old.file.truncate(old.position)) != nil {
      old.segment.allocated = old.position
    }
    handles.register(old.segment)
  }
}
