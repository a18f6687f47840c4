import ConiferKeyValue

/// Repairs what damage stands in the way of, each repair in commits of its own; on the store's thread.
struct Repairer {
  let policy: DamagePolicy
  private let writer: StoreWriter

  init(_ writer: StoreWriter, _ role: StoreRole) {
    self.writer = writer
    policy = DamagePolicy(role: role)
  }

  /// Tries something again each time that damage which stood in its way was repaired.
  ///
  /// - Parameter body: gets the damaged records that were tried already.
  func retrying<R>(
    _ body: (Set<StoreError.Place>) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try policy.retrying(body) { (place) throws(StoreError) in
      guard let place else { return try recover() }
      try repair(place)
      return true
    }
  }

  /// Sets a damaged record aside, and those that are met on the way.
  ///
  /// - Throws: `damaged` for a record that must stay.
  func repair(_ place: StoreError.Place) throws(StoreError) {
    var repair = RecordRepair(place)
    while !repair.isDone { repair = try step(repair) }
  }

  /// Does the next commit of a repair.
  func step(_ repair: RecordRepair) throws(StoreError) -> RecordRepair {
    var next = repair
    while let place = next.places.last {
      do throws(StoreError) {
        try makeReadable(place)
        let drop = next.drop
        next.drop = nil
        next.drop = try change(.power) { (repair) throws(StoreError) in
          repair.tx.frees = true
          // A pin or a query may go.
          repair.tx.state.cover.uncovered.insert(StoreKey.tree(place.key))
          return try repair.setAside(place, drop)
        }
        if next.drop == nil { next.places.removeLast() }
        return next
      } catch {
        guard policy.repairs(error, next.seen), let other = error.place else { throw error }
        next.seen.insert(other)
        next.places.append(other)
      }
    }
    return next
  }

  /// Makes a repair in one commit.
  private func change<R>(
    _ durability: Durability, _ body: (Repair) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try writer.change(durability) { (tx) throws(StoreError) in
      try body(Repair(tx))
    }
  }

  /// Replaces a value that the store itself refuses to lend by the bytes that stand there: the
  /// record's own checksum then tells its damage, and the bytes can be kept.
  private func makeReadable(_ place: StoreError.Place) throws(StoreError) {
    guard let space = Spaces.all.first(where: { $0.id == place.space }), policy.repairs(place)
    else { return }
    do throws(StoreError) {
      _ = try writer.read { (view) throws(StoreError) in try view.get(space, place.key) { _ in } }
    } catch {
      guard error.code == .damaged, error.place == place else { throw error }
      var batch = Batch()
      batch.put(space, place.key, error.found ?? [])
      try writer.apply(batch, min(.power, writer.store.traits.strongest))
    }
  }

  // MARK: Records that the store lost

  /// Goes on without what the store cannot read, when an error tells of that and it may be left out.
  ///
  /// - Returns: whether what met the error may be tried again.
  func recover(after error: StoreError) throws(StoreError) -> Bool {
    guard error.code == .damaged, error.place == nil, policy.role == .cache else { return false }
    return try recover()
  }

  /// Goes on without what the store found to be lost; false when it found nothing.
  func recover() throws(StoreError) -> Bool {
    let findings = writer.store.findings
    guard !findings.isEmpty else { return false }
    try recover(from: findings)
    return true
  }

  /// Goes on without what the store had to leave out, and with what an earlier opening left to do.
  ///
  /// - Throws: `damaged` for an authority, whose data may not be lacking without a word, and for a
  ///   store whose registry of trees may be lacking.
  func recover(from findings: [StoreFinding]) throws(StoreError) {
    if let first = findings.first {
      guard policy.role == .cache else {
        throw StoreError(
          .damaged,
          "Data that had been durable is lacking: \(first.words). Put back a copy of the store, or "
            + "open it as a cache to go on without them; nothing was changed.")
      }
      if let lost = findings.first(where: { $0.spaces?.contains(Spaces.system.id) == true }) {
        throw StoreError(
          .damaged,
          "The list of trees may be lacking: \(lost.words). Put back a copy of the store, or make a "
            + "new one; nothing was changed.")
      }
      // What is left must agree again before anybody reads it, also when the process dies between.
      let marker = try writer.read { (view) throws(StoreError) in
        try RecoveryMarker.set(view, lost: findings.map(\.words))
      }
      try writer.apply(marker, min(.power, writer.store.traits.strongest))
      try writer.leaves.change { (store) throws(StoreError) in try store.acknowledgeFindings() }
    }
    guard try writer.read(RecoveryMarker.isSet) else { return }
    // Tree by tree: the marker stays until all agree.
    for info in try writer.read(Trees.readable) {
      try retryingChange(.process) { (repair) throws(StoreError) in try repair.reconcile(info) }
    }
    try retryingChange(.power) { (repair) throws(StoreError) in
      try repair.report(try RecoveryMarker.clear(repair.tx))
    }
  }

  /// Makes what is left of a tree or lane agree after records of it were removed.
  func reconcile(_ scope: StoreScope) throws(StoreError) {
    try retryingChange(.process) { (repair) throws(StoreError) in try repair.reconcile(scope) }
  }

  private func retryingChange(
    _ durability: Durability, _ body: (Repair) throws(StoreError) -> Void
  ) throws(StoreError) {
    try retrying { (_) throws(StoreError) in try change(durability, body) }
  }
}

/// A repair between two of its commits.
struct RecordRepair: Sendable {
  /// What is still to be set aside, the next one last: the damaged record, and others that were met since.
  fileprivate var places: [StoreError.Place]
  fileprivate var seen: Set<StoreError.Place>
  /// How far the runs of a lost dictionary are dropped.
  fileprivate var drop: DictionaryDrop?

  init(_ place: StoreError.Place) {
    places = [place]
    seen = [place]
  }

  var isDone: Bool { places.isEmpty }
}
