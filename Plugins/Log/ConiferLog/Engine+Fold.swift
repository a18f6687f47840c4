@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// Older tables up to so many times the size of what is written anew are merged into it, so that
  /// tables are few and each entry is written a few times only.
  private static let mergeRatio = 3

  /// What a fold makes, until its manifest is durable.
  private struct Made {
    var table: Table?
    var merged: [Table] = []
    var active: Active?
    /// Names to remove when the fold fails.
    var names: [String] = []
  }

  /// Writes the tail into a table and a manifest that counts the journal from here on; drops what
  /// holds nothing any more.
  ///
  /// - Parameters:
  ///   - capacity: of a new active segment, or nil to keep the one that is.
  ///   - isFull: whether all tables are merged.
  ///   - isForced: whether a manifest is written even if nothing has changed.
  ///   - lost: parts of tables to leave out, with what older tables know of their keys: nobody can
  ///     tell what became of those. All tables are merged then.
  ///   - usesReserve: whether it may take the reserve of a full disk.
  /// - Throws: `full` (nothing has changed), `damaged` (an older table), `io`, `denied`.
  func fold(
    rolling capacity: Int? = nil, isFull: Bool = false, isForced: Bool = false,
    leavingOut lost: [Losses.Loss] = [], usesReserve: Bool = true
  ) throws(StoreError) {
    do throws(StoreError) {
      try foldOnce(rolling: capacity, isFull: isFull, isForced: isForced, leavingOut: lost)
    } catch {
      // Without a new segment a fold takes little, and gives back what is dead.
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
    try keepLostAside(lost)
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
      // After a failed sync nothing is touched any more: either manifest may be the one that counts.
      if poison == nil { for name in made.names { try? files.remove(path(name)) } }
      throw error
    }
  }

  /// Segments that no key points to and nobody writes.
  ///
  /// - Parameter owed: what counts as live in them and is dead.
  private func droppable(
    _ snapshot: Snapshot, _ active: Active?, owed: [UInt64: Int] = [:]
  ) -> [Segment] {
    snapshot.segments.values.filter { segment in
      segment.live <= owed[segment.number] ?? 0 && segment.number != active?.segment.number
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
      // What cannot be read is neither merged nor lost: the tail alone gets a table.
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

  /// Makes a manifest of what was made durable, and then the published state.
  private func publish(_ before: Snapshot, _ made: Made) throws(StoreError) {
    let next = made.active ?? active
    var snapshot = before
    snapshot.tail = SortedBytes()
    snapshot.tables =
      (made.table.map { [$0] } ?? []) + before.tables.dropFirst(made.merged.count)
    if let segment = made.active?.segment { snapshot.segments[segment.number] = segment }
    let owed = published.state.withLock { $0 }.owed
    let dropped = droppable(snapshot, next, owed: owed)
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
        live: max(0, segment.live - (owed[segment.number] ?? 0)))
    }.sorted { $0.number < $1.number }
    manifest.tables = snapshot.tables.map(\.entry)
    try write(manifest)

    if made.active != nil, let old = active { seal(old) }
    active = next
    lost = []
    // Opened before its name goes, for views that may still read it.
    for segment in dropped { segment.drop() }
    published.state.withLock { state in
      // At once with the tail that owed it, so that nobody sees it counted twice.
      for (number, bytes) in owed { snapshot.segments[number]?.live -= bytes }
      state.snapshot = snapshot
      state.tailBytes = 0
      state.goneBytes = 0
      state.owing = []
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

  /// Gives back what was allocated and not used.
  private func seal(_ old: Active) {
    if old.capacity > old.position, (try? old.file.truncate(old.position)) != nil {
      old.segment.allocated = old.position
    }
    handles.note(old.segment)
  }
}
