public import ConiferKeyValue

extension StorageConfiguration {
  /// Opens the backend; when the store is damaged beyond its records, sets its files aside whole and
  /// goes on with a new store that holds what could be saved, queues and pins first.
  ///
  /// The old files go into a directory beside the store's, `NAME.damaged`, and are never deleted. The new
  /// store is made in `NAME.salvage` before anything is moved, so a process that is killed at any
  /// time loses nothing: the next opening goes on. The new store keeps a report of its own that says
  /// where the old files lie.
  ///
  /// - Returns: the backend, and what was saved and lost; no report when nothing had to be done. If
  ///   an earlier process was killed after the salvage and before it returned, the report lists
  ///   what is lost among its incidents.
  /// - Throws: as `open`. `damaged` for an authority, whose data is never given up, and for a kind of
  ///   store whose files nothing is known of; `wrongKey` when a tree or a lane has an encryption key of
  ///   its own that was not given, since its queue would be left behind; `unsupported` when the
  ///   directory is a volume of its own. Nothing has changed then.
  public func openOrSalvage() async throws(StoreError) -> (
    backend: any StorageBackend, report: SalvageReport?
  ) {
    let finished: String?
    if let root { finished = try StoreExchange.finish(root) } else { finished = nil }
    let exchange: StoreExchange?
    if let root { exchange = try StoreExchange(root) } else { exchange = nil }
    let backend: any StorageBackend
    do throws(StoreError) {
      backend = try open()
    } catch {
      guard error.code == .damaged, options.role == .cache, let exchange, salvage != nil else {
        throw error
      }
      // Without a report, another process has replaced the store in the meantime; the new one is
      // opened.
      guard let report = try await salvaged(exchange) else { return try await openOrSalvage() }
      return (try open(), report)
    }
    guard let finished else { return (backend, nil) }
    do throws(StoreError) {
      var report = try SalvageReport(of: backend)
      report.aside = finished
      return (backend, report)
    } catch {
      try? await backend.close()
      throw error
    }
  }

  /// Replaces the damaged store by a new one.
  ///
  /// - Parameter exchange: the exchange that was prepared before the store was found damaged.
  /// - Returns: nil when another process has replaced it since.
  private func salvaged(
    _ exchange: StoreExchange
  ) async throws(StoreError) -> SalvageReport? {
    let location = exchange.location
    let lock = try OwnerLock(path: location + "/owner")
    defer { lock.release() }
    guard try StoreExchange(location).aside == exchange.aside else { return nil }
    try exchange.requireOneVolume()
    let directory = try SalvageDirectory(StoreExchange.salvageDirectory(location))
    do {
      let report = try await fill(directory, exchange)
      try exchange.run()
      return report
    } catch {
      // Without a mark nothing was moved yet. With a mark, the next opening continues with this
      // directory.
      if Directory.isMissing("\(location)/\(UnfinishedStore.file)") { directory.remove() }
      throw StoreError(any: error)
    }
  }

  private func fill(
    _ directory: SalvageDirectory, _ exchange: StoreExchange
  ) async throws -> SalvageReport {
    var options = options
    options.budget = nil
    guard let target = salvage?.elsewhere(directory.store, options) else {
      throw StoreError(
        .unsupported, "Nothing is known of the files of \(name): restore a backup of the store.")
    }
    let store = TreeID(rawValue: 0)
    var notes = [
      Incident(
        kind: .recordSetAside, tree: store,
        place: "the damaged store, whole, in \(exchange.aside)", bytes: [])
    ]
    var report: SalvageReport
    do {
      report = try await Salvager(self).run(
        exchange.location, in: directory, into: target, replacing: notes)
    } catch let error as StoreError where error.code == .damaged {
      // Nothing can be read: the new store begins empty.
      Directory.remove(directory.store)
      notes.append(
        Incident(kind: .recordSetAside, tree: store, place: error.message, bytes: []))
      let new = try target.open()
      // Each earlier salvage may have lost numbers too, so the floor is raised once for each of
      // them.
      let floor = QueueFloor.above(nil, losses: exchange.number)
      _ = try await new.commit(
        [.raiseQueueFloor(floor)] + notes.map { .report($0) }, new.traits.store.strongest)
      report = try SalvageReport(of: new)
      try await new.close()
      report.lost = [
        StoreFinding(file: exchange.location, offset: 0, bytes: 0, words: error.message)
      ]
    }
    report.aside = exchange.aside
    return report
  }
}

extension StoreError {
  /// An error of storage as it is, and any other one as `io`.
  init(any error: any Error) {
    self =
      error as? StoreError
      ?? StoreError(
        .io, "The store could not be salvaged: open it again, or use conifer salvage.",
        cause: "\(error)")
  }
}
