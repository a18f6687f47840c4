import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// A request that was sent on a connection.
enum Sent: Sendable {
  case write(OutboundWrite)
  case operation(Operation)
  case get(WaitingGet)
  case listen(Listen)
  case authenticate(UserToken?)

  /// The bytes that count in the window of unanswered writes; nil when it does not count.
  var size: Int? {
    switch self {
    case .write(let write): return write.size
    case .operation(let operation): return operation.size
    case .get, .listen, .authenticate: return nil
    }
  }

  /// Whether data comes in answer.
  var isReading: Bool {
    switch self {
    case .get, .listen: return true
    case .write, .operation, .authenticate: return false
    }
  }

  /// The queued write, if it is one.
  var write: OutboundWrite? {
    if case .write(let write) = self { return write }
    return nil
  }
}

/// The requests of one connection that have no answer yet.
struct Unanswered: Sendable {
  private var requests: [UInt64: Sent] = [:]
  /// All numbers in order with the time of sending; answered ones are dropped at the front.
  private var times = FIFO<(number: UInt64, time: Milliseconds)>()
  /// The numbers of listens in order; answered ones are dropped at the front.
  private var listens = FIFO<UInt64>()
  /// The writes.
  private var writes: Set<OutboundWriteID> = []
  /// How many writes and puts there are.
  private var windowCount = 0
  /// How many bytes they have.
  private(set) var windowBytes = 0
  /// How many listens and gets there are.
  private(set) var readingCount = 0

  /// When the oldest request was sent.
  var oldest: Milliseconds? { times.first?.time }
  /// The oldest listen.
  var oldestListen: UInt64? { listens.first }

  mutating func add(_ number: UInt64, _ sent: Sent, at time: Milliseconds) {
    requests[number] = sent
    if let write = sent.write { writes.insert(write.id) }
    times.append((number: number, time: time))
    if case .listen = sent { listens.append(number) }
    count(sent, 1)
  }

  mutating func remove(_ number: UInt64) -> Sent? {
    guard let sent = requests.removeValue(forKey: number) else { return nil }
    if let write = sent.write { writes.remove(write.id) }
    count(sent, -1)
    while let first = times.first, requests[first.number] == nil { times.popFirst() }
    while let first = listens.first, requests[first] == nil { listens.popFirst() }
    return sent
  }

  /// Takes out all requests that a test picks, in the order of sending.
  mutating func removeAll(where isWanted: (Sent) -> Bool = { _ in true }) -> [Sent] {
    let numbers = requests.filter { isWanted($0.value) }.keys.sorted()
    return numbers.compactMap { remove($0) }
  }

  /// Whether a write was sent and not answered.
  func contains(_ id: OutboundWriteID) -> Bool { writes.contains(id) }

  /// The listens with their numbers.
  var listenTargets: [(number: UInt64, target: QueryTarget)] {
    listens.all.compactMap { number in
      if case .listen(let listen)? = requests[number] { (number, listen.target) } else { nil }
    }
  }

  /// Whether something of a size may be sent now; what has no size always may.
  func hasRoom(_ size: Int?, _ limits: ConnectionLimits) -> Bool {
    guard let size, windowCount > 0 else { return true }
    return windowCount < limits.window && windowBytes + size <= limits.windowBytes
  }

  private mutating func count(_ sent: Sent, _ step: Int) {
    if let size = sent.size {
      windowCount += step
      windowBytes += step * size
    }
    if sent.isReading { readingCount += step }
  }
}
