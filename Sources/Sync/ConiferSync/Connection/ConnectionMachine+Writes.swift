import ConiferStorage
import ConiferTree
import ConiferWire

extension ConnectionMachine {
  /// Takes in a write that the store holds.
  mutating func add(_ write: OutboundWrite) {
    guard write.id.lane == lane else { return }
    let isNew = write.id.id.rawValue > newest
    if isNew {
      newest = write.id.id.rawValue
      step = 0
    }
    if session?.unanswered.contains(write.id) == true { return }
    queue.add(write, isNew: isNew, limit: limits.window)
    flush()
  }

  /// Begins again with the first write that waits for an answer.
  mutating func restartQueue() {
    session?.setSendsWrites(false)
    queue.restart()
  }

  /// Asks for the next writes where there is room for them.
  mutating func askForWrites() {
    guard session?.isAccepted == true, isLaneOpen else { return }
    if let (after, count) = queue.ask(limit: limits.window) {
      actions.append(.needWrites(lane, after: after, limit: count))
    }
  }

  /// Takes in the next writes.
  mutating func add(_ page: [OutboundWrite], of lane: Lane, after: WriteID?, isLast: Bool) {
    guard lane == self.lane, queue.isAsking(after: after), let session, session.isAccepted else {
      return
    }
    let unanswered = session.unanswered
    queue.add(page, isLast: isLast) { unanswered.contains($0) }
    self.session?.setSendsWrites(true)
    flush()
  }

  mutating func marked(_ ids: [OutboundWriteID]) {
    marking = .possible
    queue.noteMarked(ids)
    flush()
  }

  /// Has writes that could not be marked wait, and what follows them: nothing overtakes.
  mutating func notMarked(_ ids: [OutboundWriteID]) {
    queue.noteUnmarked(ids)
    let count = marking.failures + 1
    let delay = max(limits.firstDelay, backoff.delay(count))
    marking = .failed(count, retry: now.uptime.adding(delay))
  }

  mutating func markAgain() {
    marking = .failed(marking.failures, retry: nil)
    flush()
  }

  mutating func withdraw(_ id: OutboundWriteID) {
    queue.withdraw(id)
    _ = session?.unanswered.removeAll { $0.write?.id == id }
    held.removeAll { if case .write(id, _) = $0.about { true } else { false } }
    flush()
  }

  mutating func answered(_ write: OutboundWrite, _ response: Response) {
    if response.status != .ok, isDueToToken(response) {
      // It is sent again as soon as a token is taken, unless it is another user's by then.
      actions.append(.writeReturned(write.id))
      return
    }
    queue.noteAnswered(write.id)
    hold(.write(write.id, write.content.changes.map(\.path)), response)
  }

  /// Reports the writes of other lanes as of unknown outcome: they are not sent on this lane's
  /// connection again.
  mutating func settleOtherLanes() {
    let lane = self.lane
    let others = session?.unanswered.removeAll { $0.write.map { $0.id.lane != lane } ?? false }
    for case .write(let write) in others ?? [] { actions.append(.writeOutcomeUnknown(write.id)) }
  }

  /// Sends what may go: the queue's writes and what was issued beside them, in order.
  ///
  /// While a newer token is shown nothing does: what the old one is refused for would be overtaken.
  mutating func flush() {
    sendGets()
    while session?.sendsWrites == true, session?.authRequest == nil {
      if let next = operations.first, queue.isPast(next.place.number) {
        guard hasRoom(next.size) else { break }
        operations.popFirst()
        send(next)
      } else if let write = queue.buffer.first {
        guard hasRoom(write.size) else { break }
        if !write.isIdempotent, !write.isMarked {
          if marking.retry.map({ $0 > now.uptime }) ?? false { break }
          let ids = queue.takeUnmarked()
          if !ids.isEmpty { actions.append(.markSent(ids)) }
          break
        }
        queue.removeFirst()
        perhapsSent = max(perhapsSent, write.id.id.rawValue)
        send(write.request, .write(write))
        actions.append(.writeSent(write.id))
      } else {
        break
      }
    }
    askForWrites()
  }

  /// Whether something of a size may go now; what has no size always may.
  private func hasRoom(_ size: Int?) -> Bool {
    guard let size, let unanswered = session?.unanswered, unanswered.windowCount > 0 else {
      return true
    }
    return unanswered.windowCount < limits.window
      && unanswered.windowBytes + size <= limits.windowBytes
  }

  /// Gives up all that waits; the store's queue is emptied by the owner.
  mutating func purge() {
    releaseHeld(all: true)
    queue.purge()
    _ = session?.unanswered.removeAll { $0.write != nil }
    let puts = session?.unanswered.removeAll {
      if case .operation(let operation) = $0, case .put = operation.kind { true } else { false }
    }
    for case .operation(let operation) in puts ?? [] { giveUp(operation, with: .writeCanceled) }
    giveUpOperations(with: .writeCanceled)
    // Nothing is left that could be overtaken.
    session?.setSendsWrites(true)
    flush()
  }
}
