import ConiferStorage
import ConiferWire

/// The part of the outbound queue that is in memory: the next writes to be sent, by number.
struct OutboundQueue: Sendable {
  /// The writes that come next.
  private(set) var buffer = FIFO<OutboundWrite>()
  /// The highest number that was taken in since the beginning.
  private(set) var cursor: UInt64 = 0
  /// Whether the store's queue holds nothing behind the cursor.
  private(set) var isExhausted = false
  /// Whether writes were asked for.
  private var isAsking = false
  /// Whether a write was queued since then that may not be in the answer.
  private var missed = false
  /// Whether the store gave nothing though there may be more, so that asking waits for an occasion.
  private var isStalled = false
  /// Rejected writes that are to be tried again and may not be in that answer.
  private var renewed: [OutboundWrite] = []
  /// Writes that are being marked.
  private var marking: Set<OutboundWriteID> = []
  /// Answered and superseded writes that the store may still show as waiting.
  private var answered: Set<OutboundWriteID> = []
  /// Those of them that it no longer shows, but what was asked for may.
  private var finished: Set<OutboundWriteID> = []

  /// Begins again with the first write of the store's queue.
  mutating func restart() {
    buffer.removeAll()
    cursor = 0
    isExhausted = false
    isAsking = false
    isStalled = false
    missed = false
    renewed = []
    marking = []
    forgetFinished()
  }

  private mutating func forgetFinished() {
    answered.subtract(finished)
    finished = []
  }

  /// Whether all writes up to a number have been handed out.
  func isPast(_ number: UInt64) -> Bool {
    if let first = buffer.first { return first.id.id.rawValue > number }
    return isExhausted || cursor >= number
  }

  /// Whether the writes after a number are what was asked for.
  func isAsking(after id: WriteID?) -> Bool { isAsking && cursor == id?.rawValue ?? 0 }

  /// Notes that writes are asked for; whether that makes sense now.
  mutating func ask(limit: Int) -> (after: WriteID?, count: Int)? {
    guard !isExhausted, !isAsking, !isStalled, buffer.count * 2 <= limit else { return nil }
    isAsking = true
    missed = false
    return (cursor == 0 ? nil : WriteID(rawValue: cursor), limit - buffer.count)
  }

  /// Takes in what was asked for, but for writes that are under way or answered.
  mutating func add(_ page: [OutboundWrite], isLast: Bool, isUnanswered: (OutboundWriteID) -> Bool)
  {
    guard isAsking else { return }
    isAsking = false
    let end = cursor
    let newer = Set(renewed.map(\.id))
    for write in page where write.id.id.rawValue > cursor {
      cursor = write.id.id.rawValue
      if !newer.contains(write.id), !answered.contains(write.id), !isUnanswered(write.id) {
        append(write)
      }
    }
    isExhausted = isLast && !missed
    isStalled = !isLast && !missed && cursor == end
    missed = false
    for write in renewed where write.id.id.rawValue <= cursor { insert(write) }
    renewed = []
    forgetFinished()
  }

  /// Takes in a new or renewed write where there is room, or notes that the store has it.
  mutating func add(_ write: OutboundWrite, isNew: Bool, limit: Int) {
    answered.remove(write.id)
    finished.remove(write.id)
    isStalled = false
    let number = write.id.id.rawValue
    if number <= cursor {
      insert(write)
    } else if isExhausted, !isAsking, buffer.count < limit {
      cursor = number
      append(write)
    } else {
      isExhausted = false
      missed = isAsking
      if isAsking, !isNew { renewed.append(write) }
    }
  }

  private mutating func append(_ write: OutboundWrite) {
    buffer.insert(write) { $0.id.id.rawValue > write.id.id.rawValue }
  }

  private mutating func insert(_ write: OutboundWrite) {
    if !buffer.contains(where: { $0.id == write.id }) { append(write) }
  }

  mutating func removeFirst() { buffer.popFirst() }

  /// Takes a write out.
  mutating func withdraw(_ id: OutboundWriteID) {
    buffer.removeAll { $0.id == id }
    renewed.removeAll { $0.id == id }
    answered.remove(id)
  }

  /// Whether a write was answered, or is being marked.
  func isTaken(_ id: OutboundWriteID) -> Bool { answered.contains(id) || marking.contains(id) }

  /// Whether a write was answered or superseded, though the store may still show it as waiting.
  func isAnswered(_ id: OutboundWriteID) -> Bool { answered.contains(id) }

  /// Takes a write out for good, though the store may still show it as waiting.
  mutating func supersede(_ id: OutboundWriteID) {
    withdraw(id)
    noteAnswered(id)
  }

  /// Notes that a write was answered, so that it is not taken in again.
  mutating func noteAnswered(_ id: OutboundWriteID) { answered.insert(id) }

  /// Notes that the store no longer shows a write as waiting.
  mutating func noteFinished(_ id: OutboundWriteID) {
    if isAsking {
      finished.insert(id)
    } else {
      answered.remove(id)
    }
  }

  /// The writes of the buffer that must be marked before they leave and are not being marked.
  mutating func takeUnmarked() -> [OutboundWriteID] {
    let ids = buffer.all.filter { !$0.isIdempotent && !$0.isMarked && !marking.contains($0.id) }
      .map(\.id)
    marking.formUnion(ids)
    return ids
  }

  /// Notes that writes could not be marked.
  mutating func noteUnmarked(_ ids: [OutboundWriteID]) { marking.subtract(ids) }

  mutating func noteMarked(_ ids: [OutboundWriteID]) {
    let ids = Set(ids)
    marking.subtract(ids)
    buffer.changeAll { if ids.contains($0.id) { $0.isMarked = true } }
  }

  /// Forgets all: the store's queue was emptied.
  mutating func purge() {
    buffer.removeAll()
    renewed = []
    marking = []
    answered = []
    finished = []
    isExhausted = true
    isAsking = false
    isStalled = false
    missed = false
  }
}
