import ConiferSync

/// Whether it is known whose is what the app asks for, and what waits for that.
enum User: Sendable {
  /// It is the user's whose lane is open.
  case known
  /// The token provider is being asked: what depends on its answer waits, in order.
  case asked(waiting: [Step])
  /// The provider failed, and is asked again: what writes waits, in order; the rest does not.
  case unanswered(waiting: [Step])

  /// Keeps a step that has to wait; whether it has.
  mutating func holds(_ step: Step) -> Bool {
    switch self {
    case .known: return false
    case .asked(var waiting):
      guard
        step.needsUser || step.asksQueue
          || step.followsWrites && waiting.contains(where: \.isChange)
      else {
        return false
      }
      waiting.append(step)
      self = .asked(waiting: waiting)
    case .unanswered(var waiting):
      guard step.needsUser else { return false }
      waiting.append(step)
      self = .unanswered(waiting: waiting)
    }
    return true
  }

  /// Takes in whether it is known now; gives what waits no longer.
  mutating func become(_ identification: Identification) -> [Step] {
    switch identification {
    case .known:
      defer { self = .known }
      return waiting
    case .asked:
      self = .asked(waiting: waiting)
      return []
    case .unanswered:
      let rest = waiting.filter { !$0.needsUser }
      self = .unanswered(waiting: waiting.filter(\.needsUser))
      return rest
    }
  }

  /// Gives up the reads that wait and were asked for until an uptime.
  mutating func endReads(issuedBy time: Milliseconds) -> [GetRequest] {
    guard case .asked(let waiting) = self else { return [] }
    var ended: [GetRequest] = []
    let rest = waiting.filter { step in
      guard case .get(let request) = step, request.issued <= time else { return true }
      ended.append(request)
      return false
    }
    self = .asked(waiting: rest)
    return ended
  }

  private var waiting: [Step] {
    switch self {
    case .known: []
    case .asked(let waiting), .unanswered(let waiting): waiting
    }
  }
}
