import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Mends trees that lost records, in slices between commits: removes orphans, lists the collections
/// of documents and counts usage again.
final class Mender {
  enum State {
    /// Nothing is to be done, or nothing can be done before the store is opened again.
    case idle
    /// Some tree has a mending marker.
    case needed
    /// As `needed`, but the store refused the last slice: mending continues after the next commit.
    case refused
    case underWay(Mending)
  }

  /// How many bytes commits may write while a view is open before they wait for slices.
  private static let slack = 1 << 20

  private let writer: StoreWriter
  private let repairer: Repairer
  private(set) var state = State.idle {
    didSet { writer.recountedTree = recountedTree }
  }
  /// About how many bytes the store has written since the last slice.
  private var bytesWritten = 0
  /// The damaged records that slices have met since mending began; a record that is damaged again
  /// is not repaired again.
  private var repaired: Set<StoreError.Place> = []
  /// Trees that could be mended only in part: their markers stay until the store is opened again.
  private var mendedInPart: Set<TreeID> = []

  init(_ writer: StoreWriter, _ repairer: Repairer) {
    self.writer = writer
    self.repairer = repairer
  }

  /// Whether a slice waits.
  var hasWork: Bool {
    switch state {
    case .idle, .refused: false
    case .needed, .underWay: true
    }
  }

  /// Looks for trees that an earlier opening left to be mended.
  func resume() throws(StoreError) {
    do throws(StoreError) {
      let tree = try writer.read { (view) throws(StoreError) in try MendingMarker.first(view) }
      state = tree == nil ? .idle : .needed
    } catch {
      // Damage near the markers does not prevent opening the store; reading the damaged records
      // fails.
      guard error.code == .damaged else { throw error }
      state = .needed
    }
  }

  /// Closes the view; the marker stays, so that mending continues when the store is opened again.
  func stop() { state = .idle }

  /// Called for each change: it may have changed the tree that is being counted, or damaged other
  /// trees.
  func didChange(_ change: StoreChange) {
    guard change.bytes > 0 else { return }
    bytesWritten.add(change.bytes)
    // The lost records may have been counted already, so mending begins again.
    if !change.effects.damagedTrees.isEmpty {
      mendedInPart.subtract(change.effects.damagedTrees)
      return state = .needed
    }
    switch state {
    case .refused: state = .needed
    case .underWay(let work):
      guard case .counting(var recount) = work.phase, let before = change.recountedBefore,
        let after = change.usage[work.tree]
      else { return }
      recount.adjust(from: before, to: after)
      state = .underWay(Mending(work.tree, work.frozen, .counting(recount)))
    case .idle, .needed: break
    }
  }

  /// Does a slice, and repairs the damage that it meets. An error ends the mending until the store
  /// is opened again or more is lost; a full disk only delays it.
  func slice() {
    guard hasWork else { return }
    do throws(StoreError) {
      try step()
    } catch {
      state = [.full, .busy].contains(error.code) ? .refused : .idle
    }
  }

  /// Does slices until mending has read as many bytes as commits have written since the last slice;
  /// at least one slice.
  ///
  /// While mending holds its view, a store may not reuse the space that commits free, so it grows.
  /// This limits the growth to about the bytes that mending reads. While a commit waits, slices are
  /// done only above a slack.
  func catchUp(isAwaited: () -> Bool) {
    while hasWork, bytesWritten > Self.slack || !isAwaited() {
      let (writtenBefore, readBefore) = (bytesWritten, bytesRead)
      slice()
      // A new phase has read nothing yet. What mending itself wrote does not count; otherwise a few
      // orphans would cause all slices at once.
      bytesWritten = max(0, writtenBefore - max(0, bytesRead - readBefore))
      if bytesWritten == 0 { return }
    }
  }

  /// Forgets what was written while no view was held.
  func forgetWritten() { bytesWritten = 0 }

  /// Does all slices until nothing is left to mend.
  func finish() throws(StoreError) {
    while hasWork { try step() }
  }

  private var bytesRead: Int {
    if case .underWay(let work) = state { work.bytesRead } else { 0 }
  }

  private var recountedTree: TreeID? {
    if case .underWay(let work) = state, case .counting = work.phase { work.tree } else { nil }
  }

  private func step() throws(StoreError) {
    do throws(StoreError) {
      switch state {
      case .idle, .refused: return
      case .needed: try begin()
      case .underWay(let work):
        switch work.phase {
        case .sweeping(let sweep): try sweepSlice(work, sweep)
        case .listing(let listing): try listSlice(work, listing)
        case .counting(let recount): try countSlice(work, recount)
        }
      }
    } catch {
      // What the store itself cannot read is left out, and other damage is repaired; then mending
      // begins again.
      if try !repairer.recover(after: error) {
        guard repairer.policy.repairs(error, repaired), let place = error.place else {
          throw error
        }
        repaired.insert(place)
        try repairer.repair(place)
      }
      state = .needed
    }
  }

  private func begin() throws(StoreError) {
    let frozen = SnapshotReference(try writer.leaves.openSnapshot())
    var next = try MendingMarker.first(frozen.snapshot)
    while let tree = next, mendedInPart.contains(tree) {
      next = try MendingMarker.first(frozen.snapshot, after: tree)
    }
    guard let tree = next else {
      repaired = []
      state = .idle
      return
    }
    if let info = try Trees.info(frozen.snapshot, tree) {
      let sweep = OrphanSweep(info, repairer.policy.role)
      state = .underWay(Mending(tree, frozen, .sweeping(sweep)))
    } else {
      // Tree 0, the store itself, has no orphans.
      state = .underWay(Mending(tree, frozen, .counting(Recount(tree))))
    }
  }

  private func sweepSlice(_ work: Mending, _ current: OrphanSweep) throws(StoreError) {
    var work = work
    var sweep = current
    let orphans = try sweep.step(work.frozen.snapshot)
    work.phase = .sweeping(sweep)
    state = .underWay(work)
    if !orphans.isEmpty {
      try writer.change(.relaxed) { (tx) throws(StoreError) in
        tx.frees = true
        for orphan in orphans where try sweep.isStill(orphan, in: tx) {
          try tx.delete(orphan.space, orphan.key)
        }
      }
    }
    guard sweep.isDone else { return }
    let holdsDocuments = sweep.tree.order == .documents
    try begin(
      holdsDocuments
        ? .listing(CollectionListing(work.tree)) : .counting(Recount(work.tree)), work)
  }

  private func listSlice(_ work: Mending, _ current: CollectionListing) throws(StoreError) {
    var listing = current
    let collections = try listing.step(work.frozen.snapshot)
    state = .underWay(Mending(work.tree, work.frozen, .listing(listing)))
    if !collections.isEmpty {
      try writer.change(.relaxed) { (tx) throws(StoreError) in
        try listing.write(collections, tx)
      }
    }
    if listing.isIncomplete { mendedInPart.insert(work.tree) }
    if listing.isDone { try begin(.counting(Recount(work.tree)), work) }
  }

  /// Begins the next phase, with a snapshot of its own.
  private func begin(_ phase: Mending.Phase, _ work: Mending) throws(StoreError) {
    let frozen = SnapshotReference(try writer.leaves.openSnapshot())
    state = .underWay(Mending(work.tree, frozen, phase))
  }

  private func countSlice(_ work: Mending, _ current: Recount) throws(StoreError) {
    var recount = current
    if !recount.isDone {
      try recount.step(work.frozen.snapshot)
      state = .underWay(Mending(work.tree, work.frozen, .counting(recount)))
      return
    }
    // Writing the row must not count as a change of the tree.
    state = .needed
    let tree = work.tree
    try writer.change(.process) { (tx) throws(StoreError) in
      // If some collections could not be listed, the marker stays, and queries continue to search
      // all collections.
      if !mendedInPart.contains(tree) { try MendingMarker.remove(tx, tree) }
      if tree.rawValue != 0, try Trees.info(tx, tree) == nil { return }
      // Removing the marker changes the store's own records.
      if tree.rawValue == 0, let row = tx.state.usage[tree] {
        recount.adjust(from: try UsageRow.read(tx.base, tree), to: row)
      }
      tx.setUsage(tree, recount.result(try tx.usage(tree)))
    }
  }
}

/// The mending of one tree, between its slices: first orphans are removed, then collections of documents are
/// listed, then usage is counted anew, each from a snapshot of its own.
struct Mending {
  enum Phase {
    case sweeping(OrphanSweep)
    case listing(CollectionListing)
    case counting(Recount)
  }

  let tree: TreeID
  let frozen: SnapshotReference
  var phase: Phase

  /// About how many bytes of records its phase has read.
  var bytesRead: Int {
    switch phase {
    case .sweeping(let sweep): sweep.bytesRead
    case .listing(let listing): listing.bytesRead
    case .counting(let recount): recount.bytesRead
    }
  }

  init(_ tree: TreeID, _ frozen: SnapshotReference, _ phase: Phase) {
    self.tree = tree
    self.frozen = frozen
    self.phase = phase
  }
}

/// A snapshot that is closed with its last reference.
final class SnapshotReference {
  let snapshot: LeafSnapshot

  init(_ snapshot: LeafSnapshot) { self.snapshot = snapshot }

  deinit { snapshot.close() }
}
