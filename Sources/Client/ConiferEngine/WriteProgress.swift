package import ConiferStorage

/// The progress of each of the app's writes, until the store holds how it ended: one record a
/// write, with one state.
///
/// It has no effects: it is told what happened, and returns the edits of the queue that follow from it. A
/// write that waits in the store's queue, that nobody follows and that is not on its way has no record.
package final class WriteProgress {
  /// A write whose end is not known.
  private struct Waiting {
    var delivery = WriteDelivery.queued
    var followers: [WriteFollower] = []
    /// Whether the server cannot have it: it was queued while it had followers, and was not sent since.
    var isUnsent = false

    /// Whether no record is needed of it.
    var isDefault: Bool {
      guard case .queued = delivery else { return false }
      return followers.isEmpty
    }
  }

  private enum State {
    case waiting(Waiting)
    /// It has ended with this outcome; the store shows it as waiting until that is stored, with the edits that it
    /// takes by then.
    case ended(WriteReceipt.Outcome, unstored: () -> [StorageEdit])
  }

  private var states: [OutboundWriteID: State] = [:]
  /// How many writes have ended so far.
  package private(set) var endedCount = 0
  /// Those that have ended and whose end is not stored, in order.
  package private(set) var unstoredEnds: [OutboundWriteID] = []

  package init() {}

  private func waiting(_ id: OutboundWriteID) -> Waiting? {
    if case .waiting(let waiting)? = states[id] { waiting } else { nil }
  }

  /// Changes the record of a write that has not ended.
  private func change<R>(_ id: OutboundWriteID, _ body: (inout Waiting) -> R) -> R? {
    if case .ended? = states[id] { return nil }
    var record = Waiting()
    // Taken out, so that its followers are not copied.
    if case .waiting(let known)? = states.removeValue(forKey: id) { record = known }
    defer { states[id] = record.isDefault ? nil : .waiting(record) }
    return body(&record)
  }
}

// MARK: Who follows a write

extension WriteProgress {
  /// Notes who is to be told of a write's end; a receipt that nobody holds any longer is not.
  ///
  /// - Parameter isNew: whether the write was queued just now.
  package func follow(_ id: OutboundWriteID, _ follower: WriteFollower, isNew: Bool = false) {
    guard !follower.isNobody else { return }
    _ = change(id) { record in
      record.followers.append(follower)
      if isNew { record.isUnsent = true }
    }
  }

  /// Nobody holds a receipt of a write any longer: nothing is kept of it.
  package func released(_ id: OutboundWriteID) {
    guard waiting(id) != nil else { return }
    _ = change(id) { $0.followers.removeAll(where: \.isNobody) }
  }

  /// The writes that are followed.
  package var followed: [OutboundWriteID] {
    states.keys.filter { waiting($0)?.followers.isEmpty == false }
  }

  /// How many writes are followed.
  package var followedCount: Int {
    states.values.count {
      if case .waiting(let write) = $0 { !write.followers.isEmpty } else { false }
    }
  }

  /// Forgets all followers, as the database closes, and gives them in the order of their writes.
  package func removeFollowers() -> [WriteFollower] {
    let ids = states.keys.sorted { $0.number < $1.number }
    return ids.flatMap { takeFollowers($0) }
  }

  private func takeFollowers(_ id: OutboundWriteID) -> [WriteFollower] {
    guard waiting(id) != nil else { return [] }
    return change(id) { record in
      defer { record.followers = [] }
      return record.followers
    } ?? []
  }

  /// A write was dropped for a later one, whose end tells its followers too.
  ///
  /// - Returns: those followers, in order.
  package func handFollowers(
    of old: OutboundWriteID, to new: OutboundWriteID
  ) -> [WriteFollower] {
    let moved = takeFollowers(old).filter { !$0.isNobody }
    if !moved.isEmpty { _ = change(new) { $0.followers = moved + $0.followers } }
    return moved
  }
}

// MARK: The way to the server

extension WriteProgress {
  /// How far a write has come.
  package func delivery(_ id: OutboundWriteID) -> WriteDelivery { waiting(id)?.delivery ?? .queued }

  /// Whether a write may have been done by the server already, as far as the store and this run know.
  package func isOutcomeUnknown(_ write: QueuedWrite, _ lane: Lane) -> Bool {
    let id = OutboundWriteID(lane, write.id)
    guard outcome(of: id) == nil, case .queued = delivery(id) else { return false }
    return switch write.state {
    case .sent, .outcomeUnknown: true
    case .queued, .rejected: false
    }
  }

  /// Whether a write that the store has as sent must be marked again before it leaves.
  package func needsMark(_ id: OutboundWriteID) -> Bool {
    switch delivery(id) {
    case .markStored, .returnedUnstored: true
    case .queued, .marked, .sent: false
    }
  }

  /// The edits that mark writes as sent before they leave.
  package func marks(_ ids: [OutboundWriteID]) -> [StorageEdit] {
    ids.map { id in
      // The mark of one that stands in the store counts already, and has only to become durable.
      if case .markStored = delivery(id) { return .setState(id.lane, id.number, .outcomeUnknown) }
      return .setState(id.lane, id.number, .sent)
    }
  }

  /// The store holds that writes were sent, maybe not durably.
  package func markStored(_ ids: [OutboundWriteID]) {
    for id in ids { _ = change(id) { $0.delivery = .markStored } }
  }

  /// Writes may leave: the mark that they are sent is as durable as it can be, or was given up.
  package func marked(_ ids: [OutboundWriteID]) {
    for id in ids {
      if case .markStored = delivery(id) { _ = change(id) { $0.delivery = .marked } }
    }
  }

  /// A write was sent.
  package func sent(_ id: OutboundWriteID) {
    var isStored = false
    if case .marked = delivery(id) { isStored = true }
    _ = change(id) { record in
      record.delivery = .sent(isStored: isStored)
      record.isUnsent = false
    }
  }

  /// Whether the server cannot have a write that is followed; false when that is not known.
  package func isUnsent(_ id: OutboundWriteID) -> Bool { waiting(id)?.isUnsent ?? false }

  /// The end of sending a write.
  package enum SendingEnd {
    /// The connection broke before the answer.
    case outcomeUnknown
    /// The server did not look at it, and it is sent again.
    case returned
    /// The server has done it.
    case acknowledged
    /// It is not done, and waits for the app.
    case rejected(reason: String)
  }

  /// A write is no longer under way from now on, whether or not that is stored.
  ///
  /// - Returns: the edits that say so, and count the attempt unless the store has it already.
  package func endSending(_ id: OutboundWriteID, _ end: SendingEnd) -> [StorageEdit] {
    var uncounted: [StorageEdit] = []
    if case .sent(let isStored) = delivery(id) {
      _ = change(id) { $0.delivery = .queued }
      if !isStored { uncounted = [.setState(id.lane, id.number, .sent)] }
    }
    return switch end {
    case .outcomeUnknown: uncounted + [.setState(id.lane, id.number, .outcomeUnknown)]
    case .returned: uncounted + [.setState(id.lane, id.number, .queued)]
    case .acknowledged: [.finish(id.lane, id.number, .acknowledged)]
    case .rejected(let reason):
      uncounted + [.setState(id.lane, id.number, .rejected(reason: reason))]
    }
  }

  /// It could not be stored that a write waits again.
  package func returnedUnstored(_ id: OutboundWriteID) {
    _ = change(id) { $0.delivery = .returnedUnstored }
  }

  /// It is stored that a write that was not sent waits.
  package func waitsAgain(_ id: OutboundWriteID) { _ = change(id) { $0.delivery = .queued } }

  /// How often a write of the queue was sent.
  package func attempts(_ entry: QueueEntry, _ id: OutboundWriteID) -> Int {
    let stored = Int(entry.attempts)
    return switch delivery(id) {
    case .markStored, .marked: max(0, stored - 1)
    case .sent(isStored: false): stored + 1
    case .queued, .sent, .returnedUnstored: stored
    }
  }

  /// The writes that wait, though the store has them as sent.
  package var unsent: [OutboundWriteID] {
    states.keys.filter { id in
      switch delivery(id) {
      case .markStored, .marked, .returnedUnstored: true
      case .queued, .sent: false
      }
    }
  }

  /// A write that waits, though the store has it as sent, as the store should have it.
  package func corrected(_ entry: QueueEntry, _ id: OutboundWriteID) -> QueueEntry {
    var entry = entry
    entry.attempts = UInt32(clamping: attempts(entry, id))
    entry.state = .queued
    return entry
  }
}

// MARK: The end

extension WriteProgress {
  /// A write has ended: it has no record any longer.
  ///
  /// - Parameter edits: the edits that store the end, for when it could not be stored; nil when it
  ///   was.
  /// - Returns: who is to be told.
  package func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome,
    unstored edits: (() -> [StorageEdit])? = nil
  ) -> [WriteFollower] {
    let followers = takeFollowers(id)
    endedCount += 1
    forget(id)
    if let edits {
      states[id] = .ended(outcome, unstored: edits)
      unstoredEnds.append(id)
    }
    return followers
  }

  private func forget(_ id: OutboundWriteID) {
    guard case .ended? = states.removeValue(forKey: id) else { return }
    unstoredEnds.removeAll { $0 == id }
  }

  /// The outcome of a write that has ended but that the store still shows as waiting; nil for any
  /// other write.
  package func outcome(of id: OutboundWriteID) -> WriteReceipt.Outcome? {
    if case .ended(let outcome, _)? = states[id] { outcome } else { nil }
  }

  /// How many writes the store takes for waiting that have ended.
  package var unstoredCount: Int { unstoredEnds.count }

  /// The writes of a lane that were refused, of which the store could not be told.
  package func unstoredRejections(in lane: Lane) -> [WriteID] {
    unstoredEnds.filter { id in
      guard id.lane == lane, case .rejected? = outcome(of: id) else { return false }
      return true
    }.map(\.number)
  }

  /// The edits that tell the store how a write ended, as they are now; none for any other write.
  package func unstoredEdits(of id: OutboundWriteID) -> [StorageEdit] {
    if case .ended(_, let edits)? = states[id] { edits() } else { [] }
  }

  /// The store holds how a write ended, or does not know the write.
  package func stored(_ id: OutboundWriteID) { forget(id) }

  /// All writes of a lane were given up: none is under way any longer.
  ///
  /// - Returns: those that are followed, which the caller ends, in order.
  package func stopSending(all lane: Lane) -> [OutboundWriteID] {
    var followed: [OutboundWriteID] = []
    for id in Array(states.keys) where id.lane == lane && waiting(id) != nil {
      _ = change(id) { record in
        record.delivery = .queued
        if !record.followers.isEmpty { followed.append(id) }
      }
    }
    return followed.sorted { $0.number < $1.number }
  }
}
