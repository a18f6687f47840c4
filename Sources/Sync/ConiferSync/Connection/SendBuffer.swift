package import ConiferStorage
import ConiferWire

/// The part of the outbound queue that is in memory: the next writes to be sent, by number. They are
/// read from the store's queue in pages, behind a cursor.
struct SendBuffer: Sendable {
  /// What is known of the store's queue behind the cursor.
  private enum Rest: Sendable {
    /// There may be more.
    case unknown
    /// A page was asked for.
    case asked(PageRequest)
    /// The store gave nothing though there may be more: the next write or connection asks again.
    case unreadable
    /// There is nothing.
    case empty
  }

  /// A request for a page, and the events since then that the page may not show.
  private struct PageRequest: Sendable {
    /// Whether a write was queued.
    var missedWrite = false
    /// Rejected writes that are to be tried again.
    var requeued: [OutboundWrite] = []
  }

  /// Whether the store can record that writes are sent.
  private enum Marking: Sendable {
    case possible
    /// It failed so many times in a row; the next attempt waits for an uptime, nil for no longer.
    case failed(Int, retry: Milliseconds?)
  }

  private var buffer = FIFO<OutboundWrite>()
  /// The highest number that was read since the last restart, or that was added after all that was
  /// read.
  private var cursor: UInt64 = 0
  private var rest = Rest.unknown
  private var marking = Marking.possible

  /// The write that comes next.
  var first: OutboundWrite? { buffer.first }

  mutating func removeFirst() { buffer.popFirst() }

  /// Whether all writes up to a number have been handed out.
  func isPast(_ number: UInt64) -> Bool {
    if let first = buffer.first { return first.id.number.rawValue > number }
    if case .empty = rest { return true }
    return cursor >= number
  }

  /// Begins again with the first write of the store's queue.
  mutating func restart() {
    buffer.removeAll()
    cursor = 0
    rest = .unknown
  }

  /// Forgets all: the store's queue was emptied.
  mutating func purge() {
    restart()
    rest = .empty
  }

  // MARK: Reading the store's queue

  /// Begins to ask for a page where there is room for one.
  mutating func ask(limit: Int) -> (after: WriteID?, count: Int)? {
    guard case .unknown = rest, buffer.count * 2 <= limit else { return nil }
    rest = .asked(PageRequest())
    return (cursor == 0 ? nil : WriteID(rawValue: cursor), limit - buffer.count)
  }

  /// Whether the writes after a number are what was asked for.
  func isAsking(after id: WriteID?) -> Bool {
    if case .asked = rest { cursor == id?.rawValue ?? 0 } else { false }
  }

  /// Takes in the page that was asked for, but for writes that are under way.
  mutating func add(_ page: [OutboundWrite], isLast: Bool, isUnderWay: (OutboundWriteID) -> Bool) {
    guard case .asked(let question) = rest else { return }
    let start = cursor
    let requeued = Set(question.requeued.map(\.id))
    for write in page where write.id.number.rawValue > cursor {
      cursor = write.id.number.rawValue
      if !requeued.contains(write.id), !isUnderWay(write.id) { append(write) }
    }
    if question.missedWrite || (!isLast && cursor > start) {
      rest = .unknown
    } else {
      rest = isLast ? .empty : .unreadable
    }
    for write in question.requeued where write.id.number.rawValue <= cursor { insert(write) }
  }

  /// Takes in a new or renewed write where there is room, or leaves it to the store.
  mutating func add(_ write: OutboundWrite, isNew: Bool, limit: Int) {
    let number = write.id.number.rawValue
    let isRead = number <= cursor
    if isRead { insert(write) }
    switch rest {
    case .unknown: break
    case .unreadable: rest = .unknown
    case .asked(var question):
      if !isRead {
        question.missedWrite = true
        if !isNew { question.requeued.append(write) }
      }
      rest = .asked(question)
    case .empty where isRead: break
    case .empty where buffer.count < limit:
      cursor = number
      append(write)
    case .empty: rest = .unknown
    }
  }

  /// Takes in a write that may be in the buffer already.
  private mutating func insert(_ write: OutboundWrite) {
    if !buffer.contains(where: { $0.id == write.id }) { append(write) }
  }

  private mutating func append(_ write: OutboundWrite) {
    buffer.insert(write) { $0.id.number.rawValue > write.id.number.rawValue }
  }

  /// Takes a write out: the app takes it back, or a later one replaced it.
  mutating func withdraw(_ id: OutboundWriteID) {
    buffer.removeAll { $0.id == id }
    if case .asked(var question) = rest {
      question.requeued.removeAll { $0.id == id }
      rest = .asked(question)
    }
  }

  // MARK: Marking

  /// Whether the store is asked to record that a write is sent.
  func isBeingMarked(_ id: OutboundWriteID) -> Bool {
    buffer.all.contains { $0.id == id && $0.mark == .asked }
  }

  /// How often in a row writes could not be marked.
  var markingFailures: Int { if case .failed(let count, _) = marking { count } else { 0 } }

  /// The uptime at which writes are marked again.
  var markingRetry: Milliseconds? {
    if case .failed(_, let retry) = marking { retry } else { nil }
  }

  /// Begins to mark all writes that must be marked before they leave; none while a failure is recent.
  ///
  /// - Returns: those that the store is to be asked to mark.
  mutating func markWaiting(at now: Milliseconds) -> [OutboundWriteID] {
    if let retry = markingRetry, retry > now { return [] }
    var ids: [OutboundWriteID] = []
    buffer.changeAll { write in
      guard write.mark == .missing else { return }
      write.mark = .asked
      ids.append(write.id)
    }
    return ids
  }

  /// The store has recorded that writes are sent, or they leave without.
  mutating func marked(_ ids: [OutboundWriteID]) {
    marking = .possible
    let ids = Set(ids)
    buffer.changeAll { if ids.contains($0.id), !$0.mayLeave { $0.mark = .mayLeave } }
  }

  /// The store could not record that writes are sent; they are marked again at an uptime.
  mutating func markingFailed(_ ids: [OutboundWriteID], retry: Milliseconds) {
    marking = .failed(markingFailures + 1, retry: retry)
    let ids = Set(ids)
    buffer.changeAll { if ids.contains($0.id), $0.mark == .asked { $0.mark = .missing } }
  }

  /// Lets writes be marked again.
  mutating func markAgain() { marking = .failed(markingFailures, retry: nil) }
}

/// A queued write that is to be sent.
package struct OutboundWrite: Hashable, Sendable {
  /// Whether the store is told that a write was sent, before it leaves.
  package enum Mark: Hashable, Sendable {
    /// It need not be: applied twice, the write has the same effect as once.
    case notNeeded
    /// It was not, or may forget it when the power goes.
    case missing
    /// It is being told.
    case asked
    /// It was told, as durably as it can keep it; or that failed, and the write leaves all the same.
    case mayLeave
  }

  /// Its identity.
  package let id: OutboundWriteID
  /// What it asks the server for.
  package let content: WriteContent
  /// Whether the store is told that it was sent.
  package internal(set) var mark: Mark
  /// About how many bytes it takes on the wire.
  package let size: Int

  /// A write of a lane's queue.
  ///
  /// - Parameter needsMark: whether it must be marked as sent again, though the store has it so.
  package init(_ lane: Lane, _ write: QueuedWrite, needsMark: Bool = false) {
    id = OutboundWriteID(lane, write.id)
    content = write.content
    size = content.wireSize
    switch write.state {
    case _ where content.isIdempotent: mark = .notNeeded
    case .sent, .outcomeUnknown: mark = needsMark ? .missing : .mayLeave
    case .queued, .rejected: mark = .missing
    }
  }

  /// Whether nothing has to be stored before it leaves.
  package var mayLeave: Bool { mark == .notNeeded || mark == .mayLeave }
}
