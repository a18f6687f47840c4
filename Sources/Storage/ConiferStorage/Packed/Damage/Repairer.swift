import ConiferKeyValue
import ConiferLeafStore

/// Repairs the damage that commits, reads and housekeeping meet, each repair in commits of its own;
/// used on the thread that does the store's work.
struct Repairer {
  let policy: DamagePolicy
  let writer: StoreWriter

  init(_ writer: StoreWriter, _ role: StoreRole) {
    self.writer = writer
    policy = DamagePolicy(role: role)
  }

  /// Runs a closure, and again after each repair of damage that it met.
  ///
  /// - Parameter body: gets the damaged records whose repair was tried.
  func retrying<R>(
    _ body: (Set<StoreError.Place>) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try policy.retrying(body, repair: repair, recover: recover)
  }

  /// Sets a damaged record aside, after other damaged records that prevent this.
  ///
  /// - Throws: `damaged` for a record that must stay.
  func repair(_ place: StoreError.Place) throws(StoreError) {
    var repair = RepairProgress(place)
    while !repair.isDone { repair = try step(repair) }
  }

  /// Does the next commit of a repair.
  func step(_ repair: RepairProgress) throws(StoreError) -> RepairProgress {
    var next = repair
    while let place = next.places.last {
      do throws(StoreError) {
        try makeReadable(place)
        let drop = next.drop
        next.drop = nil
        next.drop = try change(.power) { (repair) throws(StoreError) in
          repair.tx.frees = true
          // A pin or a query may be removed.
          repair.tx.effects.cover.uncovered.insert(StoreKey.tree(place.key))
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

  /// Reports a damaged record that stays as it is, unless it was reported before.
  func reportLeft(_ place: StoreError.Place) throws(StoreError) {
    guard let space = Spaces.all.first(where: { $0.id == place.space }) else { return }
    let isOfTree = space != Spaces.system && place.key.count >= 4
    let tree = isOfTree ? StoreKey.tree(place.key) : TreeID(rawValue: 0)
    try change(.process) { (repair) throws(StoreError) in
      let order = isOfTree ? try Trees.info(repair.tx, tree)?.order : nil
      let words = RecordName.words(space, place.key, order)
      let incident = Incident(kind: .rangeUnreadable, tree: tree, place: words, bytes: [])
      guard try !Incidents.contains(repair.tx, where: { $0 == incident }) else { return }
      repair.tx.frees = true
      try Incidents.add(repair.tx, incident)
    }
  }

  /// Changes records in one commit of a repair.
  func change<R>(
    _ durability: Durability, _ body: (RecordRepair) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try writer.change(durability) { (tx) throws(StoreError) in
      try body(RecordRepair(tx))
    }
  }

  /// Replaces a value that the store itself refuses to return by its raw bytes: the record's own
  /// checksum then shows the damage, and the bytes can be kept.
  private func makeReadable(_ place: StoreError.Place) throws(StoreError) {
    guard let space = Spaces.all.first(where: { $0.id == place.space }), policy.repairs(place),
      place.key.count >= 4  // A shorter one is of no tree, and stays.
    else { return }
    do throws(StoreError) {
      _ = try writer.read { (view) throws(StoreError) in try view.get(space, place.key) { _ in } }
    } catch {
      guard error.code == .damaged, error.place == place else { throw error }
      let found = error.found ?? []
      try change(.power) { (repair) throws(StoreError) in
        repair.tx.frees = true
        try repair.tx.replaceUnreadable(space, place.key, with: found)
      }
    }
  }
}

/// The state of a repair between two of its commits.
struct RepairProgress: Sendable {
  /// The records still to be set aside, the next one last: the damaged record, and others that must
  /// be set aside before it.
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
