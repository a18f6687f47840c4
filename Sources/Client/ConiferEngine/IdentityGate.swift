/// Whether it is known who is signed in, and what waits to be done as that user.
///
/// It has no effects: it is told what is known, and says what waits and what goes on.
package struct IdentityGate<Step: Sendable>: Sendable {
  /// What a step has to do with who is signed in.
  package enum Dependence: Sendable {
    case none
    /// It is done as the user who asked for it.
    case isUsers
    /// It is about the queue of who is signed in, and may change it.
    case isAboutQueue(isChange: Bool)
    /// It must see the writes before it.
    case followsWrites

    fileprivate var isUsers: Bool { if case .isUsers = self { true } else { false } }

    /// Whether what the app reads behind it may be another.
    fileprivate var isChange: Bool {
      switch self {
      case .isUsers, .isAboutQueue(isChange: true): true
      case .none, .isAboutQueue, .followsWrites: false
      }
    }
  }

  private typealias Waiting = (step: Step, dependence: Dependence)

  private enum State {
    /// It is the user whose lane is open.
    case known
    /// The token provider is being asked: what depends on its answer waits, in order.
    case asked([Waiting])
    /// The provider failed, and is asked again: what writes waits, in order; the rest does not.
    case unanswered([Waiting])
  }

  private var state = State.known
  /// What waits no longer, and comes before all else.
  private var ready: [Step] = []
  /// Questions to the token provider that are under way, by their numbers.
  private var questions: [UInt64: Task<Void, Never>] = [:]
  /// Whether the store holds that somebody signed in or out, and nobody has said who.
  private var isChangeStored: Bool

  /// - Parameter isChangeStored: whether that stands in the store when it is opened.
  package init(isChangeStored: Bool = false) { self.isChangeStored = isChangeStored }

  private var waiting: [Waiting] {
    switch state {
    case .known: []
    case .asked(let waiting), .unanswered(let waiting): waiting
    }
  }

  /// Whether it is known who is signed in.
  package var isKnown: Bool { if case .known = state { true } else { false } }

  /// How many steps wait for the token provider's answer.
  package var waitingCount: Int { if case .asked(let waiting) = state { waiting.count } else { 0 } }

  // MARK: Steps

  /// Keeps a step that has to wait; whether it has.
  package mutating func holds(_ step: Step, _ dependence: Dependence) -> Bool {
    switch state {
    case .known: return false
    case .asked(let waiting):
      switch dependence {
      case .none: return false
      case .isUsers, .isAboutQueue: break
      case .followsWrites:
        guard waiting.contains(where: \.dependence.isChange) else { return false }
      }
      state = .asked(waiting + [(step, dependence)])
    case .unanswered(let waiting):
      guard dependence.isUsers else { return false }
      state = .unanswered(waiting + [(step, dependence)])
    }
    return true
  }

  /// Takes what waits no longer.
  package mutating func takeReady() -> [Step] {
    defer { ready = [] }
    return ready
  }

  /// Gives up steps that wait for the provider's answer.
  ///
  /// - Parameter isOver: which.
  package mutating func remove(where isOver: (Step) -> Bool) -> [Step] {
    guard case .asked(let waiting) = state else { return [] }
    state = .asked(waiting.filter { !isOver($0.step) })
    return waiting.map(\.step).filter(isOver)
  }

  // MARK: What is known

  /// It is known who is signed in: what waited goes on.
  package mutating func known() {
    ready += waiting.map(\.step)
    state = .known
  }

  /// The token provider is asked.
  package mutating func asked() { state = .asked(waiting) }

  /// The token provider failed: only what writes goes on waiting.
  package mutating func unanswered() {
    ready += waiting.filter { !$0.dependence.isUsers }.map(\.step)
    state = .unanswered(waiting.filter(\.dependence.isUsers))
  }

  // MARK: The token provider

  /// How many questions are under way.
  package var questionCount: Int { questions.count }

  package mutating func began(_ question: Task<Void, Never>, _ number: UInt64) {
    questions[number] = question
  }

  package mutating func ended(_ number: UInt64) { questions[number] = nil }

  /// Gives up all questions.
  package mutating func cancelQuestions() {
    for question in questions.values { question.cancel() }
    questions = [:]
  }

  // MARK: What the next start is to know

  /// Notes that the store is to hold whether somebody signed in or out; whether that is new to it.
  package mutating func storeChange(_ isChanging: Bool) -> Bool {
    defer { isChangeStored = isChanging }
    return isChanging != isChangeStored
  }

  /// The store did not take that: whatever it holds, the next change is stored.
  package mutating func changeNotStored() { isChangeStored = false }
}
