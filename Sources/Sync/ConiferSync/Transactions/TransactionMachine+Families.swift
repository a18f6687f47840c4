import ConiferTree

extension TransactionMachine {
  /// Takes in a transaction that begins: into the family at its path, or into one of its own with
  /// those below.
  mutating func join(_ transaction: Transaction) {
    let root = tree.root(of: transaction.path)
    if families[root] == nil {
      let below = tree.roots(below: root).compactMap { dissolve($0) }
      var family = TransactionFamily(below.flatMap(\.all).sorted { $0.order < $1.order })
      family.ready = below.reduce(0) { $0 + $1.ready }
      families[root] = family
    }
    families[root]?.append(.init(order: transaction.order, id: transaction.id))
    tree.insert(transaction.id, at: transaction.path)
    transactions[transaction.id] = transaction
  }

  /// Forgets a transaction; what is left of its family may be several now.
  mutating func remove(_ id: TransactionID) -> Transaction? {
    guard let transaction = transactions[id] else { return nil }
    let root = tree.root(of: transaction.path)
    set(.waiting, id)
    transactions[id] = nil
    if let overlay = transaction.overlay { unsent[overlay] = nil }
    tree.remove(id, at: transaction.path)
    families[root]?.remove(transaction.order)
    guard families[root]?.count != 0 else {
      _ = dissolve(root)
      return transaction
    }
    guard tree.roots(below: root) != [root], let rest = dissolve(root)
    else { return transaction }
    var parts: [Path: [TransactionFamily.Member]] = [:]
    for member in rest.all {
      guard let path = transactions[member.id]?.path else { continue }
      parts[tree.root(of: path), default: []].append(member)
    }
    for (path, members) in parts {
      var family = TransactionFamily(members)
      family.ready = members.count { transactions[$0.id]?.isReady == true }
      families[path] = family
    }
    return transaction
  }

  private mutating func dissolve(_ root: Path) -> TransactionFamily? {
    let family = families.removeValue(forKey: root)
    formerLooks += family?.looks ?? 0
    return family
  }

  /// How often a transaction was looked at; tests of the cost read it.
  var looks: Int { families.values.reduce(formerLooks) { $0 + $1.looks } }

  /// Moves a transaction to another phase.
  mutating func set(_ phase: Transaction.Phase, _ id: TransactionID) {
    guard let old = transactions[id] else { return }
    transactions[id]?.phase = phase
    let isReady = transactions[id]?.isReady == true
    if isReady != old.isReady {
      families[tree.root(of: old.path)]?.ready += isReady ? 1 : -1
    }
    guard let overlay = old.overlay else { return }
    if case .sent = phase { unsent[overlay] = nil } else { unsent[overlay] = old.order }
  }

  /// Notes a transaction's newest write over the views.
  mutating func set(_ overlay: OverlayID, of transaction: Transaction) {
    if let old = transaction.overlay { unsent[old] = nil }
    unsent[overlay] = transaction.order
    transactions[transaction.id]?.overlay = overlay
    families[tree.root(of: transaction.path)]?.set(overlay, of: transaction.order)
  }

  /// Whether a transaction's write lies over all that earlier ones wrote.
  mutating func isOnTop(_ transaction: Transaction) -> Bool {
    guard let overlay = transaction.overlay else { return false }
    let root = tree.root(of: transaction.path)
    return families[root]?.isOnTop(overlay, of: transaction.order) ?? true
  }

  /// The writes over which a function runs: what earlier transactions wrote, and what is under way,
  /// but not what is to run again later.
  mutating func visibleWrites(for transaction: Transaction) -> OverlayFilter {
    // What is newer than a write on top is excluded anyway, as a set would have ended the
    // transaction: it need not be looked at.
    let end = isOnTop(transaction) ? transaction.overlay : nil
    let (unsent, order) = (unsent, transaction.order)
    return OverlayFilter(includesHidden: true, end: end) {
      unsent[$0].map { $0 >= order } ?? false
    }
  }

  /// Whether no earlier transaction is to run before one.
  mutating func isInTurn(_ transaction: Transaction) -> Bool {
    guard let first = nextRun(), first.order < transaction.order else { return true }
    let earlier = families[tree.root(of: transaction.path)]?.members(before: transaction.order)
    return (earlier ?? []).allSatisfy { transactions[$0.id]?.isWaiting != true }
  }

  /// The first transaction that waits for its turn.
  mutating func nextRun() -> (order: UInt64, id: TransactionID)? {
    while let first = runs.first {
      if transactions[first.id]?.isWaiting == true { return first }
      runs.removeFirst()
    }
    return nil
  }
}
