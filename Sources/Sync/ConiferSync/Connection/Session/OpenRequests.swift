import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// The requests of one connection until their ends are handed on: those that have no answer yet, and the answers that wait
/// for listens.
struct OpenRequests: Sendable {
  /// How far a write has come that was sent.
  private enum WriteState {
    case unanswered
    /// The answer waits for listens.
    case answered
  }

  /// The last request's number.
  private var last: UInt64 = 0
  private var unanswered: [UInt64: Sent] = [:]
  /// All unanswered numbers in order with the time of sending; answered ones are dropped at the front.
  private var times = FIFO<(number: UInt64, time: Milliseconds)>()
  /// The numbers of unanswered listens in order; answered ones are dropped at the front.
  private var listens = FIFO<UInt64>()
  /// The answers that wait for listens, in the order in which they came.
  private var answers = FIFO<DeferredAnswer>()
  private var writes: [OutboundWriteID: WriteState] = [:]
  /// How many unanswered writes and puts there are.
  private var windowCount = 0
  /// How many bytes they have.
  private(set) var windowBytes = 0
  /// How many unanswered listens and gets there are.
  private(set) var readingCount = 0

  // MARK: Until the answer comes

  /// When the oldest unanswered request was sent.
  var oldest: Milliseconds? { times.first?.time }

  /// Gives a number to a request that leaves, and keeps what was sent until the answer comes; nil when nobody waits for one.
  mutating func add(_ sent: Sent?, at time: Milliseconds) -> UInt64 {
    last += 1
    guard let sent else { return last }
    unanswered[last] = sent
    if let write = sent.write { writes[write.id] = .unanswered }
    times.append((number: last, time: time))
    if case .listen = sent { listens.append(last) }
    count(sent, 1)
    return last
  }

  /// Takes out the request with a number, whose answer came; nil when none waits for it.
  mutating func remove(_ number: UInt64) -> Sent? {
    guard let sent = unanswered.removeValue(forKey: number) else { return nil }
    if let write = sent.write { writes[write.id] = nil }
    count(sent, -1)
    while let first = times.first, unanswered[first.number] == nil { times.popFirst() }
    while let first = listens.first, unanswered[first] == nil { listens.popFirst() }
    return sent
  }

  /// Takes out all unanswered requests that a test picks, in the order of sending.
  mutating func removeAll(where isWanted: (Sent) -> Bool = { _ in true }) -> [Sent] {
    let numbers = unanswered.filter { isWanted($0.value) }.keys.sorted()
    return numbers.compactMap { remove($0) }
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

  // MARK: Until the answer is handed on

  /// Whether a write was sent, and its answer is not handed on.
  func contains(_ id: OutboundWriteID) -> Bool { writes[id] != nil }

  /// Whether a write was sent and not answered.
  func isUnanswered(_ id: OutboundWriteID) -> Bool { writes[id] == .unanswered }

  /// Whether the server has answered a write, and the answer waits for listens.
  func isAnswerDeferred(_ id: OutboundWriteID) -> Bool { writes[id] == .answered }

  /// Keeps an answer until all listens that were sent before it came are answered. They may bring
  /// data from before the write, over which the write must still be shown.
  mutating func addAnswer(_ response: Response, to subject: DeferredAnswer.Subject) {
    if case .write(let id, _) = subject { writes[id] = .answered }
    answers.append(DeferredAnswer(subject: subject, response: response, lastRequest: last))
  }

  /// Takes out the first answer, if it waits for nothing more.
  ///
  /// - Parameter isEarly: whether one that waits is taken as well; it is marked if its data has not come.
  mutating func popAnswer(isEarly: Bool = false) -> DeferredAnswer? {
    guard let first = answers.first else { return nil }
    if !isEarly, let listen = listens.first, listen <= first.lastRequest { return nil }
    if case .write(let id, _) = first.subject { writes[id] = nil }
    var answer = answers.popFirst()
    if isEarly, first.response.status == .ok { answer?.isDataMissing = isDataMissing(of: first) }
    return answer
  }

  /// Whether an unanswered listen was to bring an answer's data.
  private func isDataMissing(of answer: DeferredAnswer) -> Bool {
    let paths = answer.subject.paths
    return listens.contains(where: { number in
      guard number <= answer.lastRequest, case .listen(let listen)? = unanswered[number] else {
        return false
      }
      let path = listen.target.path
      return paths.contains { $0.contains(path) || path.contains($0) }
    })
  }
}

/// A request that was sent on a connection.
enum Sent: Sendable {
  case write(OutboundWrite)
  case operation(Operation)
  case get(WaitingGet)
  case listen(Listen)
  case authenticate(UserToken?)
  case appCheck(AppToken)

  /// The bytes that count in the window of unanswered writes; nil when it does not count.
  var size: Int? {
    switch self {
    case .write(let write): return write.size
    case .operation(let operation): return operation.size
    case .get, .listen, .authenticate, .appCheck: return nil
    }
  }

  /// Whether data comes in answer.
  var isReading: Bool {
    switch self {
    case .get, .listen: return true
    case .write, .operation, .authenticate, .appCheck: return false
    }
  }

  /// The queued write, if it is one.
  var write: OutboundWrite? {
    if case .write(let write) = self { return write }
    return nil
  }
}

/// The answer to a write or a put, until it is handed on.
struct DeferredAnswer: Sendable {
  enum Subject: Sendable {
    /// With the paths that it changed, as in a put.
    case write(OutboundWriteID, [Path])
    case put(OperationID, Path)

    var paths: [Path] {
      switch self {
      case .write(_, let all): all
      case .put(_, let path): [path]
      }
    }
  }

  let subject: Subject
  let response: Response
  /// Listens up to this request must be answered first.
  let lastRequest: UInt64
  /// Whether it is handed on before those of them that touch its paths are answered.
  var isDataMissing = false

  /// What hands it on.
  var action: ConnectionAction {
    switch subject {
    case .write(let id, _): .writeAnswered(id, response, isDataMissing: isDataMissing)
    case .put(let id, _): .putAnswered(id, response, isDataMissing: isDataMissing)
    }
  }
}
