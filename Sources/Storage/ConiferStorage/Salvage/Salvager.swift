package import ConiferKeyValue

/// Saves what can be read of a damaged store into a new one; the damaged one is only read.
///
/// Its rows are put into a store beside the new one, where damaged records are detected and set
/// aside as in any cache. The intact data is then copied, queues first.
package struct Salvager {
  private let method: SalvageMethod
  private let encryption: (any StoreLayer)?
  /// Called with how far the salvage is, again and again.
  package var advanced: (SalvageProgress) -> Void = { _ in }

  /// A salvage of stores of one kind.
  ///
  /// - Parameters:
  ///   - configuration: the damaged store's.
  /// - Throws: `unsupported` when nothing is known of the files of its kind.
  package init(_ configuration: StorageConfiguration) throws(StoreError) {
    guard let method = configuration.salvage else {
      throw StoreError(
        .unsupported,
        "Nothing is known of the files of \(configuration.name): restore a backup of the store.")
    }
    self.method = method
    encryption = configuration.options.encryption
  }

  /// Reads a damaged store and fills a new one.
  ///
  /// - Parameters:
  ///   - damaged: the damaged store's directory.
  ///   - directory: where the salvage works.
  ///   - target: the new store, which nobody else opens; without a budget.
  ///   - notes: given when the new store takes the damaged one's place: reports that it is to keep
  ///     besides, with words for all that the returned report tells of. Then no record is left behind
  ///     for want of a key.
  /// - Returns: what was saved.
  /// - Throws: `damaged` when nothing can be read at all, `wrongKey`, and as opening the new store.
  package func run(
    _ damaged: String, in directory: SalvageDirectory, into target: StorageConfiguration,
    replacing notes: [Incident]? = nil
  ) async throws -> SalvageReport {
    var lost: [StoreFinding] = []
    let rows = try method.rows(directory.rows)
    let (salvaged, mended, locked): (any StorageBackend, [String], [LockedRecords])
    let missing: LostCommits?
    do {
      let expected = Directory.bytes(in: damaged)
      var writer = RowWriter(store: rows) {
        advanced(SalvageProgress(phase: .reading, bytes: $0, expected: expected))
      }
      try method.read(
        damaged, directory.copy, { (edit) throws(StoreError) in try writer.add(edit) },
        { lost.append($0) })
      try writer.finish()
      let mark = SyncMarkFile.commit(in: damaged)
      (salvaged, mended, locked, missing) = try opened(SalvagedStore(rows, lost: lost), mark)
    } catch {
      try? rows.close()
      throw error
    }
    do {
      if notes != nil { try Self.requireKeys(locked) }
      if let missing {
        lost.append(
          StoreFinding(file: SyncMarkFile.name, offset: 0, bytes: 0, words: missing.words))
      }
      let words =
        (missing.map { [$0.words] } ?? []) + mended
        + locked.filter { $0.why != .erased }.map(\.description)
      let known = notes.map { notes in
        notes
          + words.map {
            Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: $0, bytes: [])
          }
      }
      var report = try await copy(
        salvaged, target, known ?? [], isWhole: lost.isEmpty && mended.isEmpty && locked.isEmpty)
      try await salvaged.close()
      (report.lost, report.mended, report.locked) = (lost, mended, locked)
      return report
    } catch {
      try? await salvaged.close()
      throw error
    }
  }

  /// A backend on the salvaged rows, after those that cannot be read were removed.
  ///
  /// - Parameter mark: that of the damaged store.
  private func opened(
    _ rows: SalvagedStore, _ mark: StoreCommit?
  ) throws(StoreError) -> (any StorageBackend, [String], [LockedRecords], LostCommits?) {
    let options = StorageOptions(budget: nil, role: .cache, encryption: encryption)
    let store = try encryption?.open(over: rows, Scopes.layout) ?? rows
    if encryption == nil {
      // Encrypted rows without their key are refused before records are made for them.
      let view = try store.view()
      defer { view.close() }
      try Trees.requireReadable(view)
    }
    let missing = try mark.flatMap { (mark) throws(StoreError) in
      try Self.missing(store, mark, isWhole: rows.findings.isEmpty)
    }
    let locked = try dropLocked(store)
    let mended = try SalvagedRegistry.mend(store)
    let engine = PackedEngine(store, options, Activity(after: 0))
    try engine.repairer.recover(from: store.findings)
    for scope in locked.scopes.sorted(by: { bytesPrecede($0.prefix, $1.prefix) }) {
      try engine.repairer.reconcile(scope)
    }
    let view = try store.view()
    defer { view.close() }
    var trees: [TreeID: TreeInfo] = [:]
    for info in try Trees.all(view) { trees[info.id] = info }
    return (try packed(store, "salvage", options), mended, locked.records(trees), missing)
  }

  /// The durable commits that the rows lack by the store's mark, besides what is known to be lost.
  private static func missing(
    _ store: any OrderedStore, _ mark: StoreCommit, isWhole: Bool
  ) throws(StoreError) -> LostCommits? {
    let view = try store.view()
    defer { view.close() }
    let stored = try StoreCommit.read(view)
    // A lost number may be a part of what is lost.
    return stored.commit != nil || isWhole ? LostCommits(stored, mark) : nil
  }

  /// Refuses to leave out a queue that could be read if its key were given.
  private static func requireKeys(_ locked: [LockedRecords]) throws(StoreError) {
    guard let first = locked.first(where: { $0.why == .notGiven }) else { return }
    throw StoreError(
      .wrongKey,
      "The store is damaged, and a new one would leave behind what has a key of its own (\(first)). Open "
        + "it with that key, or save the rest with conifer salvage. Nothing was changed.")
  }

  /// Removes the records whose encryption key is missing.
  private func dropLocked(_ store: any OrderedStore) throws(StoreError) -> LockedScopes {
    let view = try store.view()
    defer { view.close() }
    var locked = LockedScopes()
    var batch = Batch()
    try LockedScopes.walk(view) { space, key, size, why in
      locked.add(space, key, size, why)
      batch.delete(space, key)
    }
    if !batch.isEmpty { try store.apply(batch, .process) }
    return locked
  }

  private func copy(
    _ salvaged: any StorageBackend, _ target: StorageConfiguration, _ notes: [Incident],
    isWhole: Bool
  ) async throws -> SalvageReport {
    let new = try target.open()
    do {
      // Of the files: no read may fail for the figure's sake.
      let expected = max(1, (try? salvaged.size().file) ?? 1)
      var copier = StoreCopier(source: salvaged, target: new, reached: { _ in })
      copier.advanced = {
        advanced(SalvageProgress(phase: .copying, bytes: $0, expected: expected))
      }
      try await copier.run(from: CopyPosition())
      if !isWhole {
        let floor = QueueFloor.above(
          try new.read { (view) throws(StoreError) in try view.queueFloor() })
        _ = try await new.commit([.raiseQueueFloor(floor)], new.traits.store.strongest)
      }
      let report = try SalvageReport(of: new)
      if !notes.isEmpty {
        _ = try await new.commit(notes.map { .report($0) }, new.traits.store.strongest)
      }
      try await new.close()
      return report
    } catch {
      try? await new.close()
      throw error
    }
  }
}

/// Gathers edits into batches of a few megabytes.
private struct RowWriter {
  private let store: any OrderedStore
  /// Called with how many bytes were stored so far.
  private let stored: (Int) -> Void
  private var batch = Batch()
  private var size = 0
  private var total = 0

  init(store: any OrderedStore, stored: @escaping (Int) -> Void) {
    self.store = store
    self.stored = stored
  }

  mutating func add(_ edit: Batch.Edit) throws(StoreError) {
    switch edit {
    case .put(let space, let key, let value):
      batch.put(space, key, value)
      size += key.count + value.count
    case .delete(let space, let key): batch.delete(space, key)
    case .clear(let space, let from, let to): batch.clear(space, from: from, to: to)
    }
    size += 32
    if size > 4 << 20 { try finish() }
  }

  mutating func finish() throws(StoreError) {
    guard !batch.isEmpty else { return }
    try store.apply(batch, .process)
    total += size
    stored(total)
    batch = Batch()
    size = 0
  }
}
