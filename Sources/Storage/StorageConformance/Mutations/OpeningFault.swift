internal import ConiferKeyValue
internal import Synchronization

/// What a store does wrong when it is opened again.
enum OpeningFault: Sendable {
  /// Nothing is kept.
  case forgets
  /// Data outlives a store that is declared to forget.
  case remembers
  /// The batch before the last one is done once more, over the last one.
  case replaysOlder
  /// The last batch is done once more, its puts before its deletes and clears.
  case replaysDisordered
  /// After an orderly close the last commit is gone.
  case forgetsLastAfterClosing
  /// After a process that did not close it the last commit is gone.
  case forgetsLastAfterDeath

  var keeps: MutationHistory.Kept {
    switch self {
    case .forgets, .remembers: .nothing
    case .replaysOlder, .replaysDisordered: .batches
    case .forgetsLastAfterClosing, .forgetsLastAfterDeath: .undo
    }
  }
}

extension MutatedStore {
  /// Does what the fault does at opening.
  func opened() throws(StoreError) {
    if case .life(.overstatesQuantum)? = site.fault { site.happened() }
    guard case .openings(let fault)? = site.fault else { return }
    let history = try MutationHistory(of: base)
    let durability = base.traits.strongest
    switch fault {
    case .remembers: site.happened()
    case .forgets:
      var batch = Batch()
      for id in 1...254 as ClosedRange<UInt8> {
        let space = Space(id: id, shape: .rows)
        if try base.isEmpty(space) { continue }
        batch.clear(space, from: [], to: Bytes(repeating: 0xFF, count: 64))
      }
      guard !batch.isEmpty else { break }
      site.happened()
      try base.apply(batch, durability)
    case .replaysOlder:
      guard let before = history.before else { break }
      site.happened()
      try base.apply(Batch(before), durability)
    case .replaysDisordered:
      guard let last = history.last else { break }
      let disordered = last.filter(\.isPut) + last.filter { !$0.isPut }
      guard disordered != last else { break }
      site.happened()
      try base.apply(Batch(disordered), durability)
    case .forgetsLastAfterClosing: if history.isClosed { try undo() }
    case .forgetsLastAfterDeath: if !history.isClosed { try undo() }
    }
  }

  /// Takes the newest commit back.
  func undo() throws(StoreError) {
    let history = try MutationHistory(of: base)
    guard let undo = history.undo else { return }
    site.happened()
    try base.apply(Batch(undo + history.forgettingUndo), base.traits.strongest)
  }

  /// A batch with what the store must remember of it.
  func remembering(_ batch: Batch) throws(StoreError) -> Batch {
    guard site.keeps != .nothing else { return batch }
    let rows = try MutationHistory(of: base).rows(for: batch, site.keeps, base)
    return batch.with(batch.edits + rows)
  }

  /// Remembers that the store was closed.
  func rememberClosing() throws(StoreError) {
    guard site.keeps != .nothing else { return }
    if case .life(.forgetsAtClosing)? = site.fault, state.withLock({ $0.isRelaxed }) {
      try undo()
    }
    try base.apply(Batch([MutationHistory.closing]), .relaxed)
  }
}

extension OrderedStore {
  /// Whether a space has no rows.
  fileprivate func isEmpty(_ space: Space) throws(StoreError) -> Bool {
    let view = try view()
    defer { view.close() }
    return try view.first(space, atOrAfter: []) == nil
  }
}
