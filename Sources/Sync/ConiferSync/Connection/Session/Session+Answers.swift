import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// An answer that waits for the listens that were sent before it: their data must not be older than
/// what the answer ends.
struct DeferredAnswer: Sendable {
  enum Subject: Sendable {
    /// With the places that it changed, as in a put.
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
  /// Whether the connection broke before those listens were answered.
  var isEarly = false
}

extension Session {
  /// Hands an answer on when the listens before it are answered, which may be now.
  mutating func deliver(
    _ subject: DeferredAnswer.Subject, _ response: Response, _ client: inout ClientState
  ) {
    deferred.append(DeferredAnswer(subject: subject, response: response, lastRequest: lastRequest))
    deliverAnswers(&client)
  }

  /// Hands on the answers that wait for nothing more, or all of them, in the order in which they came.
  mutating func deliverAnswers(all: Bool = false, _ client: inout ClientState) {
    while let first = deferred.first {
      if !all, let listen = unanswered.oldestListen, listen <= first.lastRequest { return }
      deferred.popFirst()
      switch first.subject {
      case .write(let id, _):
        client.actions.append(.writeAnswered(id, first.response, isEarly: first.isEarly))
      case .put(let id, _):
        client.actions.append(.putAnswered(id, first.response, isEarly: first.isEarly))
      }
    }
  }

  /// Marks the answers whose data an unanswered listen was to bring: the connection broke before.
  mutating func markEarlyAnswers() {
    guard !deferred.isEmpty else { return }
    let listens = unanswered.listenTargets
    deferred.changeAll { answer in
      guard answer.response.status == .ok else { return }
      let (last, paths) = (answer.lastRequest, answer.subject.paths)
      answer.isEarly = listens.contains { number, target in
        number <= last
          && paths.contains { $0.contains(target.path) || target.path.contains($0) }
      }
    }
  }
}
