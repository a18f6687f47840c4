import ConiferKeyValue
import ConiferTree

/// Mends trees of which records were lost, in slices between commits.
extension PackedEngine {
  /// What the engine knows of trees that are to be mended.
  enum MendingState {
    /// Nothing is to be done, or nothing can be done before the store is opened again.
    case idle
    /// Some tree has a note.
    case due
    /// Some tree has a note, and the store takes nothing now: the next commit that it takes goes on.
    case waiting
    case underWay(Mending)
  }

  /// Whether a slice waits.
  var isMending: Bool {
    switch mending {
    case .idle, .waiting: false
    case .due, .underWay: true
    }
  }

  /// Looks for trees that an earlier opening left to be mended.
  func resumeMending() throws(StoreError) {
    let view = try store.view()
    defer { view.close() }
    do throws(StoreError) {
      mending = try MendingNote.first(view) == nil ? .idle : .due
    } catch {
      // Damage beside the notes refuses no store: whoever reads it tells it, and so does the first slice.
      guard error.code == .damaged else { throw error }
      mending = .due
    }
  }

  /// Lets go of the view; the note tells later that the tree is still to be mended.
  func stopMending() { mending = .idle }

  /// How the mending goes on once a commit is stored that is about to be: the tree that is counted may
  /// change by it, and trees may be to be mended from now on.
  func mended(by tx: Transaction) -> MendingState {
    // What was counted so far may be what was lost.
    if !tx.state.mending.isEmpty { return .due }
    if case .waiting = mending { return .due }
    guard case .underWay(let work) = mending, case .counting(var recount) = work.phase,
      let row = tx.state.usage[work.tree]
    else { return mending }
    let old = try? UsageRow.read(tx.base, work.tree)
    recount.note(from: old ?? UsageRow(), to: row)
    return .underWay(Mending(work.tree, work.view, .counting(recount)))
  }

  /// Does a slice; an error ends the mending until the store is opened again or more is lost, but a full
  /// disk only delays it.
  func mendSlice() {
    guard isMending else { return }
    do throws(StoreError) {
      try mend()
    } catch {
      mending = [.full, .busy].contains(error.code) ? .waiting : .idle
    }
  }

  /// Does as many slices as look at as many bytes as others wrote meanwhile, and one at least: a store may
  /// not reuse what is written over while a frozen view is held, and so grows by little more than what the
  /// mending looks at.
  func mendSlices() {
    var owed = unmended
    repeat {
      let before = looked
      mendSlice()
      // A phase that begins has looked at nothing yet.
      owed -= max(0, looked - before)
    } while owed > 0 && isMending
    // What the mending itself removed asks for no more of it, or few orphans would ask for all at once.
    unmended = 0
  }

  private var looked: Int {
    if case .underWay(let work) = mending { work.looked } else { 0 }
  }

  /// Mends all that is to be mended.
  func finishMending() throws(StoreError) {
    while isMending { try mend() }
  }

  private func mend() throws(StoreError) {
    do throws(StoreError) {
      try step()
    } catch {
      // What the store itself cannot read is left out from now on, and all is looked at anew.
      guard try goOn(after: error) else { throw error }
      mending = .due
    }
  }

  private func step() throws(StoreError) {
    switch mending {
    case .idle, .waiting: return
    case .due: try beginMending()
    case .underWay(let work):
      switch work.phase {
      case .sweeping(let sweep): try goOn(work, sweep)
      case .counting(let recount): try goOn(work, recount)
      }
    }
  }

  private func beginMending() throws(StoreError) {
    let frozen = FrozenView(try store.view())
    guard let tree = try MendingNote.first(frozen.view) else { return stopMending() }
    if let info = try Trees.info(frozen.view, tree) {
      let sweep = OrphanSweep(info, role, codec: codec, longestKey: longestKey)
      mending = .underWay(Mending(tree, frozen, .sweeping(sweep)))
    } else {
      // The store itself has nothing that could be left over.
      mending = .underWay(Mending(tree, frozen, .counting(Recount(tree))))
    }
  }

  private func goOn(_ work: Mending, _ begun: OrphanSweep) throws(StoreError) {
    var work = work
    var sweep = begun
    let orphans = try sweep.step(work.view.view)
    work.phase = .sweeping(sweep)
    mending = .underWay(work)
    if !orphans.isEmpty {
      try change(.relaxed) { (tx) throws(StoreError) in
        tx.frees = true
        for orphan in orphans where try sweep.isStill(orphan, in: tx) {
          try tx.delete(orphan.space, orphan.key)
        }
      }
    }
    guard sweep.isDone else { return }
    mending = .underWay(
      Mending(work.tree, FrozenView(try store.view()), .counting(Recount(work.tree))))
  }

  private func goOn(_ work: Mending, _ begun: Recount) throws(StoreError) {
    var recount = begun
    if !recount.isDone {
      try recount.step(work.view.view)
      mending = .underWay(Mending(work.tree, work.view, .counting(recount)))
      return
    }
    // The row itself is no change that counts.
    mending = .due
    let tree = work.tree
    try change(.process) { (tx) throws(StoreError) in
      try MendingNote.remove(tx, tree)
      if tree.rawValue != 0, try Trees.info(tx, tree) == nil { return }
      // Removing the note is a change of the store's own records.
      if tree.rawValue == 0, let row = tx.state.usage[tree] {
        recount.note(from: try UsageRow.read(tx.base, tree), to: row)
      }
      tx.setUsage(tree, recount.result(try tx.usage(tree)))
    }
    eviction.counted = nil
  }
}
