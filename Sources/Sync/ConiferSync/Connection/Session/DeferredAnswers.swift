import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// An answer that waits for all listens that were sent before it came: they may bring data from before the
/// write that it ends, and the write must lie over that.
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

/// The answers that wait for listens, in the order in which they came.
struct DeferredAnswers: Sendable {
  private var answers = FIFO<DeferredAnswer>()
  /// The writes among what they answer.
  private var writes: Set<OutboundWriteID> = []

  /// Whether the answer to a write waits.
  func contains(_ id: OutboundWriteID) -> Bool { writes.contains(id) }

  mutating func append(_ answer: DeferredAnswer) {
    if case .write(let id, _) = answer.subject { writes.insert(id) }
    answers.append(answer)
  }

  /// Takes out the first answer, unless it waits for a listen.
  ///
  /// - Parameter listen: the oldest listen without an answer; nil for none.
  mutating func popFirst(before listen: UInt64?) -> DeferredAnswer? {
    guard let first = answers.first, listen.map({ $0 > first.lastRequest }) ?? true else {
      return nil
    }
    if case .write(let id, _) = first.subject { writes.remove(id) }
    return answers.popFirst()
  }

  /// Marks the answers whose data an unanswered listen was to bring, as they are handed on before.
  ///
  /// - Parameter listens: the listens without an answer, with their numbers.
  mutating func markMissingData(_ listens: [(number: UInt64, target: QueryTarget)]) {
    answers.changeAll { answer in
      guard answer.response.status == .ok else { return }
      let (last, paths) = (answer.lastRequest, answer.subject.paths)
      answer.isDataMissing = listens.contains { number, target in
        number <= last
          && paths.contains { $0.contains(target.path) || target.path.contains($0) }
      }
    }
  }
}
