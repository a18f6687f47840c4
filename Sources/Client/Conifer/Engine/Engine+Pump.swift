import ConiferSync

extension Engine {
  /// The most writes, or answers and news of the server, that share a commit.
  private static let largestGroup = 256

  /// Asks for a step; returns at once.
  nonisolated func post(_ step: Step) {
    guard inbox.add(step) else { return }
    Task(executorPreference: thread) { await self.pump() }
  }

  /// Does the steps there are, until there are none.
  private func pump() async {
    while let steps = inbox.take() {
      for step in steps {
        await perform(step)
        await performNext()
      }
      settle()
    }
  }

  /// Does what waited to know who is signed in.
  private func performNext() async {
    for step in identity.takeReady() { await perform(step) }
  }

  /// Does one step.
  ///
  /// Writes that follow one another share a commit, and so do answers and news of the server.
  private func perform(_ step: Step) async {
    if identity.holds(step, step.dependence) {
      if case .get(let request) = step { limit(request) }
      return
    }
    switch step {
    case .write(let write, let caller):
      if !units.isEmpty || link.hasActions { settle() }
      writes.add(write.content(time: setup.clock.wallTime), caller)
      if writes.unqueuedCount >= Self.largestGroup { settle() }
      return
    case .released(let id): return writes.released(id)
    case .event(let number, let event):
      if writes.unqueuedCount > 0 { settle() }
      tell(.event(event, number))
      link.note(event, of: number)
      runActions()
      if units.count >= Self.largestGroup || endsCommit || link.hasActions { settle() }
      return
    default: settle()
    }
    switch step {
    case .write, .released, .event: break
    case .open: await open()
    case .observe(let registration): observe(registration)
    case .stop(let id): stop(id)
    case .stopAll(let target): stopAll(target)
    case .pin(let isPinned, let target): pin(isPinned, target)
    case .get(let request): begin(request)
    case .transact(let request): begin(request)
    case .ran(let id, let result): ran(id, result)
    case .onDisconnect(let operation, let completion): issue(operation, completion)
    case .tell(let input): tell(input)
    case .purge: discardAll()
    case .tick: tell(.tick)
    case .refreshToken:
      // Also where the first answer is still out, and so nothing else changes.
      if setup.tokenProvider != nil { storeChange(true) }
      tell(.refreshToken)
    case .ask(let question), .askQueue(_, let question): question(self)
    case .close(let done):
      await closeAll()
      await performNext()
      settle()
      done()
    }
    settle()
  }

  /// Queues and commits what waits, does what the connection asks for, and tells the app, until
  /// nothing is left.
  func settle() {
    repeat {
      queueWrites()
      commitUnits()
      runActions()
    } while writes.unqueuedCount > 0 || !units.isEmpty || link.hasActions
    link.grantCredit()
    deliver()
  }

  /// Hands what the app is to be told to the callback queue, in order.
  private func deliver() {
    guard !outbox.isEmpty else { return }
    let calls = outbox
    outbox = []
    setup.callbackQueue.async { for call in calls { call() } }
  }
}
