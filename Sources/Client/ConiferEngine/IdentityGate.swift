/// A gate that holds back steps that depend on who is signed in, until the token provider has said
/// who that is.
///
/// It has no effects: it is told what is known, and says which steps wait and which are ready.
package struct IdentityGate<Step: Sendable>: Sendable {
  /// How a step depends on who is signed in.
  package enum Dependence: Sendable {
    case none
    /// It is done as the user who asked for it.
    case needsUser
    /// It is about the queue of who is signed in, and may change it.
    case concernsQueue(isChange: Bool)
    /// It is a read that must see the writes before it.
    case followsWrites
    /// It waits for the ends of the user's writes, also of those before it that wait themselves.
    case awaitsWrites

    /// Whether it may change what later reads see.
    fileprivate var isChange: Bool {
      switch self {
      case .needsUser, .concernsQueue(isChange: true): true
      case .none, .concernsQueue, .followsWrites, .awaitsWrites: false
      }
    }
  }

  /// The steps that wait, in order.
  private struct Waiting {
    private(set) var steps: [(step: Step, dependence: Dependence)] = []
    /// How many of them may change what later reads see.
    private(set) var changes = 0

    mutating func add(_ step: Step, _ dependence: Dependence) {
      steps.append((step, dependence))
      if dependence.isChange { changes += 1 }
    }

    /// Takes out the steps that are meant.
    mutating func remove(where shouldRemove: (Step, Dependence) -> Bool) -> [Step] {
      let all = steps
      (steps, changes) = ([], 0)
      var removed: [Step] = []
      for (step, dependence) in all {
        if shouldRemove(step, dependence) { removed.append(step) } else { add(step, dependence) }
      }
      return removed
    }
  }

  private enum State {
    /// The signed-in user is the one whose lane is open.
    case known
    /// The token provider is being asked: what depends on its answer waits, in order.
    case asked(Waiting)
    /// The provider failed and is asked again: writes wait, in order, with what awaits their ends, and all else is done.
    /// The app's changes of the queue are done too, as they name writes by their ids, which say whose they are.
    case unanswered(Waiting)
  }

  private var state = State.known
  /// Steps that waited and wait no longer; they are done before all others.
  private var ready: [Step] = []
  /// Questions to the token provider that are under way, by their numbers.
  private var questions: [UInt64: Task<Void, Never>] = [:]
  /// Whether the store holds that the user may have changed, and the provider has not said to whom; nil
  /// when that is not known, as storing it failed.
  private var isChangeStored: Bool?

  /// - Parameter isChangeStored: whether that stands in the store when it is opened.
  package init(isChangeStored: Bool = false) { self.isChangeStored = isChangeStored }

  private var waiting: Waiting {
    switch state {
    case .known: Waiting()
    case .asked(let waiting), .unanswered(let waiting): waiting
    }
  }

  /// Whether it is known who is signed in.
  package var isKnown: Bool { if case .known = state { true } else { false } }

  /// Whether the token provider is being asked, so that it is not known whose queue counts.
  package var isAsking: Bool { if case .asked = state { true } else { false } }

  /// How many steps wait for the token provider's answer.
  package var waitingCount: Int {
    if case .asked(let waiting) = state { waiting.steps.count } else { 0 }
  }

  /// How many steps wait, also behind a failure of the provider, or wait no longer and are not done yet.
  ///
  /// - Parameter isWanted: which are counted.
  package func count(where isWanted: (Step) -> Bool) -> Int {
    waiting.steps.count { isWanted($0.step) } + ready.count(where: isWanted)
  }

  // MARK: Steps

  /// Keeps a step that has to wait, behind those that wait already.
  ///
  /// - Returns: whether it waits; otherwise it is to be done now.
  package mutating func holdBack(_ step: Step, _ dependence: Dependence) -> Bool {
    switch state {
    case .known: return false
    case .asked(var waiting):
      let mustWait =
        switch dependence {
        case .none: false
        case .needsUser, .concernsQueue, .awaitsWrites: true
        case .followsWrites: waiting.changes > 0
        }
      guard mustWait else { return false }
      // Taken out meanwhile, so that what waits already is not copied.
      state = .known
      waiting.add(step, dependence)
      state = .asked(waiting)
    case .unanswered(var waiting):
      let mustWait =
        switch dependence {
        case .needsUser: true
        case .awaitsWrites: waiting.changes > 0
        case .none, .concernsQueue, .followsWrites: false
        }
      guard mustWait else { return false }
      state = .known
      waiting.add(step, dependence)
      state = .unanswered(waiting)
    }
    return true
  }

  /// Takes the steps that wait no longer.
  package mutating func takeReady() -> [Step] {
    defer { ready = [] }
    return ready
  }

  /// Gives up steps that wait for the provider's answer.
  ///
  /// - Parameter isWanted: which.
  package mutating func remove(where isWanted: (Step) -> Bool) -> [Step] {
    guard case .asked(var waiting) = state else { return [] }
    let removed = waiting.remove { step, _ in isWanted(step) }
    state = .asked(waiting)
    return removed
  }

  // MARK: What is known

  /// It is known who is signed in: what waited goes on.
  package mutating func becameKnown() {
    ready += waiting.steps.map(\.step)
    state = .known
  }

  /// The token provider is asked.
  package mutating func askingBegan() { state = .asked(waiting) }

  /// The token provider failed: only steps that write go on waiting, and what awaits their ends.
  package mutating func askingFailed() {
    var waiting = waiting
    var hasWrites = false
    ready += waiting.remove { _, dependence in
      switch dependence {
      case .needsUser:
        hasWrites = true
        return false
      case .awaitsWrites: return !hasWrites
      case .none, .concernsQueue, .followsWrites: return true
      }
    }
    state = .unanswered(waiting)
  }

  // MARK: The token provider

  /// How many questions are under way.
  package var questionCount: Int { questions.count }

  /// Asks the token provider a question, off the engine's thread.
  ///
  /// - Parameters:
  ///   - force: whether a token that the provider still has must not be given again.
  ///   - number: the question's.
  ///   - told: called with the answer; then `ended` is to be called.
  package mutating func ask(
    _ provider: any TokenProvider, forcingRefresh force: Bool, _ number: UInt64,
    _ completion: @escaping @Sendable (ProviderAnswer) -> Void
  ) {
    questions[number] = Task.detached {
      do {
        let token = try await provider.token(forcingRefresh: force)
        completion(token?.identityFault.map { .failed($0) } ?? .token(token))
      } catch {
        completion(.failed("\(error)"))
      }
    }
  }

  /// A question is answered.
  package mutating func ended(_ number: UInt64) { questions[number] = nil }

  /// Gives up a question; its answer does not matter any longer.
  package mutating func cancelQuestion(_ number: UInt64) {
    questions.removeValue(forKey: number)?.cancel()
  }

  /// Gives up all questions; their answers do not matter any longer.
  package mutating func cancelQuestions() {
    for question in questions.values { question.cancel() }
    questions = [:]
  }

  // MARK: What is kept for the next start

  /// Whether the store must be told that the user may, or may not, have changed; false when it says
  /// so already.
  package func mustStore(isChanging: Bool) -> Bool { isChanging != isChangeStored }

  /// It is being stored whether the user may have changed.
  package mutating func storing(isChanging: Bool) { isChangeStored = isChanging }

  /// Storing whether the user may have changed failed: the next change is stored in any case.
  package mutating func storingFailed() { isChangeStored = nil }
}

/// What a token provider answered.
package enum ProviderAnswer: Sendable {
  /// The token of who is signed in, whose identity can name a lane; nil when nobody is.
  case token(AuthToken?)
  /// It gave none; with the reason.
  case failed(String)
}
