import ConiferTree

/// The transactions that have not ended, by number, by path, and in families of those at, above and
/// below one another.
struct LiveTransactions: Sendable {
  private(set) var byID: [TransactionID: Transaction] = [:]
  private(set) var tree = TransactionTree()
  /// The families, by the path nearest the root.
  private(set) var families: [Path: TransactionFamily] = [:]
  /// The writes over the views of transactions that are not sent, with their orders.
  private(set) var unsent: [LanePosition: UInt64] = [:]
  /// How many members of former families were visited.
  private var formerVisits = 0

  subscript(id: TransactionID) -> Transaction? { byID[id] }

  /// Takes in a transaction that begins: into the family at its path, or into one of its own with
  /// those below.
  mutating func join(_ transaction: Transaction) {
    let root = tree.root(of: transaction.path)
    if families[root] == nil {
      let below = tree.roots(below: root).compactMap { dissolve($0) }
      var family = TransactionFamily(below.flatMap(\.all).sorted { $0.order < $1.order })
      family.readyCount = below.reduce(0) { $0 + $1.readyCount }
      families[root] = family
    }
    families[root]?.append(.init(order: transaction.order, id: transaction.id))
    tree.insert(transaction.id, at: transaction.path)
    byID[transaction.id] = transaction
  }

  /// Removes a transaction; the rest of its family may be several families now.
  mutating func remove(_ id: TransactionID) -> Transaction? {
    guard let transaction = byID[id] else { return nil }
    let root = tree.root(of: transaction.path)
    // The phase is changed first, so that its family no longer counts it as ready.
    set(.waiting, id)
    byID[id] = nil
    if let position = transaction.writePosition { unsent[position] = nil }
    tree.remove(id, at: transaction.path)
    families[root]?.remove(transaction.order)
    guard families[root]?.count != 0 else {
      _ = dissolve(root)
      return transaction
    }
    // While another one is at the root, it holds the rest together.
    guard tree.roots(below: root) != [root], let rest = dissolve(root)
    else { return transaction }
    var parts: [Path: [TransactionFamily.Member]] = [:]
    for member in rest.all {
      guard let path = byID[member.id]?.path else { continue }
      parts[tree.root(of: path), default: []].append(member)
    }
    for (path, members) in parts {
      var family = TransactionFamily(members)
      family.readyCount = members.count { byID[$0.id]?.isReady == true }
      families[path] = family
    }
    return transaction
  }

  private mutating func dissolve(_ root: Path) -> TransactionFamily? {
    let family = families.removeValue(forKey: root)
    formerVisits += family?.visits ?? 0
    return family
  }

  /// How often a transaction was visited; tests of the cost read it.
  var visits: Int { families.values.reduce(formerVisits) { $0 + $1.visits } }

  /// Changes a transaction, but for its phase and its write over the views.
  mutating func change(_ id: TransactionID, _ body: (inout Transaction) -> Void) {
    guard var transaction = byID[id] else { return }
    body(&transaction)
    byID[id] = transaction
  }

  /// The members of a family, or those that were begun after another one.
  mutating func findMembers(of root: Path, after order: UInt64? = nil) -> [Transaction] {
    (families[root]?.members(after: order) ?? []).compactMap { byID[$0.id] }
  }

  /// The members of a transaction's family that were begun before it.
  mutating func findMembers(before transaction: Transaction) -> [Transaction] {
    let root = tree.root(of: transaction.path)
    return (families[root]?.members(before: transaction.order) ?? []).compactMap { byID[$0.id] }
  }

  /// Moves a transaction to another phase.
  mutating func set(_ phase: Transaction.Phase, _ id: TransactionID) {
    guard let old = byID[id] else { return }
    byID[id]?.phase = phase
    let isReady = byID[id]?.isReady == true
    if isReady != old.isReady {
      families[tree.root(of: old.path)]?.readyCount += isReady ? 1 : -1
    }
    guard let position = old.writePosition else { return }
    if case .sent = phase { unsent[position] = nil } else { unsent[position] = old.order }
  }

  /// Takes in a transaction's newest write over the views.
  mutating func set(_ writePosition: LanePosition, of transaction: Transaction) {
    if let old = transaction.writePosition { unsent[old] = nil }
    unsent[writePosition] = transaction.order
    byID[transaction.id]?.writePosition = writePosition
    families[tree.root(of: transaction.path)]?.set(writePosition, of: transaction.order)
  }

  /// Finds the position of a transaction's write if that lies over all that earlier ones wrote; nil otherwise. Its family
  /// remembers what was found.
  mutating func findTopWrite(of transaction: Transaction) -> LanePosition? {
    guard let position = transaction.writePosition else { return nil }
    let root = tree.root(of: transaction.path)
    guard let newest = families[root]?.findNewestWrite(before: transaction.order) else {
      return position
    }
    return newest < position ? position : nil
  }

  /// The writes over which a function runs: those of earlier transactions and those that are sent, but
  /// not those of transactions that run later.
  mutating func findVisibleWrites(for transaction: Transaction) -> OverlayFilter {
    // Newer writes than the top one belong to later transactions and need not be visited: a set
    // would have ended this transaction.
    let end = findTopWrite(of: transaction)
    let (unsent, order) = (unsent, transaction.order)
    return OverlayFilter(includesHidden: true, end: end) {
      unsent[$0].map { $0 >= order } ?? false
    }
  }
}
