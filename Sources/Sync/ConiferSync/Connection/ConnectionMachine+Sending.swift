import ConiferStorage
import ConiferWire

/// What the app issues, while connected and while not.
extension ConnectionMachine {
  /// Takes in a write that the store holds.
  mutating func add(_ write: OutboundWrite) {
    guard write.id.lane == lane else { return }
    let isNew = client.position.add(write.id.id)
    guard !isUnanswered(write.id) else { return }
    client.queue.add(write, isNew: isNew, limit: client.limits.window)
    sendWaiting()
  }

  /// Takes in a transaction's attempt. It names a hash of the data as it is now, and may be another
  /// user's when the next token is taken: it does not wait for a connection.
  mutating func issue(_ put: TransactionPut) {
    guard isWritable else { return client.actions.append(.putReturned(put.id)) }
    client.issue(.put(put), at: put.place)
    sendWaiting()
  }

  /// Answers `laneChanged`: the lane's newest number is known, so its writes can be asked for.
  mutating func openLane(_ newest: WriteID?) {
    client.openLane(newest)
    whileConnected { session, client in session.askForWrites(&client) }
  }

  /// Gives up all that waits; the store's queue is emptied by the owner.
  mutating func purge() {
    whileConnected { session, client in session.purge(&client) }
    client.queue.purge()
    client.giveUpOperations(with: .writeCanceled)
    sendWaiting()
  }

  /// Whether the server knows who reads.
  private var canRead: Bool { isWritable && !client.auth.isChanging }

  /// Ends reads that waited too long; all while the app is away, as nothing can come.
  mutating func expireGets() {
    guard !canRead else { return }
    var isAway = false
    if case .closed(let reasons) = state {
      isAway = reasons.contains(.offline) || reasons.contains(.shutdown)
    }
    let ended =
      isAway
      ? client.gets.removeAll()
      : client.gets.removeExpired(at: client.now.uptime, client.limits.getTime)
    for id in ended { client.actions.append(.getUnavailable(id)) }
  }

  /// When the oldest waiting read gives up; nil while reads can be sent.
  var getDeadline: Milliseconds? { canRead ? nil : client.gets.deadline(client.limits.getTime) }
}
