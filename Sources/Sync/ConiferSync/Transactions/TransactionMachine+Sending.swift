import ConiferTree
import ConiferWire

extension TransactionMachine {
  /// Sends the families of which all members have a result.
  mutating func sendReady(_ readView: ReadView) {
    guard isWritable else { return }
    var roots: Set<Path> = []
    for path in readyPaths {
      let root = live.tree.root(of: path)
      // A transaction that ended there may have held back others below.
      roots.formUnion(live.tree.roots(below: root))
    }
    readyPaths = []
    let groups = roots.filter { live.families[$0]?.isReady == true }
    let ordered = groups.sorted { live.families[$0]?.first ?? 0 < live.families[$1]?.first ?? 0 }
    for root in ordered { send(at: root, readView) }
  }

  /// Sends the transactions of a family as one put.
  private mutating func send(at root: Path, _ readView: ReadView) {
    let group = live.findMembers(of: root)
    var outputs: [(path: Path, node: Node)] = []
    for transaction in group {
      guard let output = transaction.output, let path = transaction.path.relative(to: root)
      else { return }
      outputs.append((path: path, node: output))
    }
    guard let position = group.first?.position else { return }
    let unsent = live.unsent
    let latest = readView(root, OverlayFilter(includesHidden: true) { unsent[$0] != nil })
    var node = latest
    for output in outputs { node = node.setting(output.path, to: output.node) }
    lastPut += 1
    let id = OperationID(rawValue: lastPut)
    for transaction in group {
      live.set(.sent, transaction.id)
      live.change(transaction.id) { $0.attempts += 1 }
    }
    puts[id] = SentPut(path: root, ids: group.map(\.id))
    let hash = NodeHash.hash(latest)
    actions.append(.put(TransactionPut(id, position: position, root, node, hash: hash)))
  }

  mutating func answered(_ id: OperationID, _ response: Response, _ isDataMissing: Bool) {
    guard let put = puts.removeValue(forKey: id) else { return }
    switch response.status {
    case .ok: commit(put, isDataMissing)
    case .dataStale:
      for id in put.ids {
        guard let transaction = live[id] else { continue }
        if let ending = transaction.ending {
          fail(id, .local(ending))
        } else {
          live.set(.ready, id)
        }
      }
      rerun(put.path)
    default:
      for id in put.ids { fail(id, live[id]?.ending.map { .local($0) } ?? .refused(response)) }
    }
    readyPaths.insert(put.path)
  }

  mutating func givenUp(_ id: OperationID, _ status: LocalStatus) {
    guard let put = puts.removeValue(forKey: id) else { return }
    for id in put.ids { fail(id, .local(live[id]?.ending ?? status)) }
    readyPaths.insert(put.path)
  }

  private mutating func commit(_ put: SentPut, _ isDataMissing: Bool) {
    let done = put.ids.compactMap { live.remove($0) }
    for transaction in done {
      guard let position = transaction.writePosition else { continue }
      actions.append(.acknowledge(position, isDataMissing: isDataMissing))
    }
    for transaction in done {
      let outcome = TransactionOutcome(isCommitted: true, node: transaction.resolved)
      actions.append(.complete(transaction.id, outcome))
      actions.append(.unlisten(transaction.id, transaction.path))
    }
    mustProceed = true
    rerun(put.path)
  }

  /// A put was not sent, or was refused for want of a valid token: its transactions run again or are sent again.
  mutating func returned(_ id: OperationID) {
    guard let put = puts.removeValue(forKey: id) else { return }
    for id in put.ids {
      live.change(id) { $0.attempts -= 1 }
      if let ending = live[id]?.ending {
        fail(id, .local(ending))
      } else {
        live.set(.ready, id)
      }
    }
    readyPaths.insert(put.path)
    rerun(put.path)
  }

  /// Ends the transactions that a set or an update overrides; one that was sent ends if the server
  /// refuses it.
  mutating func overwritten(_ paths: [Path]) {
    for path in paths {
      let ids = live.tree.above(path) + live.tree.within(path)
      for transaction in ids.compactMap({ live[$0] }).sorted(by: { $0.order < $1.order }) {
        if case .sent = transaction.phase {
          live.change(transaction.id) { $0.ending = .overriddenBySet }
        } else {
          fail(transaction.id, .local(.overriddenBySet))
        }
      }
      rerun(path)
    }
  }

  mutating func giveUp(_ status: LocalStatus) {
    puts = [:]
    for transaction in live.byID.values.sorted(by: { $0.order < $1.order }) {
      var ending = status
      // It is unknown whether the server applied it for the old user.
      if case .sent = transaction.phase, status == .identityChanged { ending = .disconnect }
      fail(transaction.id, .local(ending))
    }
  }
}
