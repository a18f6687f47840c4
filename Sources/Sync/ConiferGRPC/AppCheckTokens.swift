#if GRPC
  import ConiferEngine
  import ConiferWire
  import Synchronization

  /// The app's own tokens as calls show them: the last one of the provider, until another one is there or it expires.
  ///
  /// One question is asked at a time. A call for which there is no token, or one that was just refused, waits ten seconds at
  /// most for the answer. `unauthenticated` may be said of the user's token just as well, so a refused one is shown until
  /// there is another: without any, a server may refuse for good what it would have taken. After a failure the provider is
  /// left alone for 30 seconds; after a second refusal in a row it is asked every 30 seconds at most, and nobody waits.
  final class AppCheckTokens: Sendable {
    /// A question to the provider.
    private struct Question {
      let number: Int
      /// Whether it is for another token than the last one.
      let isForced: Bool
      let since: Int64
      let task: Task<Void, Never>
      /// Whether it has taken so long that nobody waits for it any more.
      var isLate = false
      /// Whether the app has said since that it has another token, which the answer may not be.
      var isOutdated = false
    }

    /// Times are those of the clock that never jumps, in milliseconds.
    private struct State {
      var held: HeldAppToken?
      /// Whether the last token has expired: the provider may have it still.
      var hasExpired = false
      /// How often tokens were refused in a row.
      var refusals = 0
      /// Since when the server takes tokens.
      var acceptedAt: Int64?
      /// The question that is under way.
      var question: Question?
      /// When the last question was asked, and how many were.
      var asked = (at: Int64(0), count: 0)
      /// When the provider may be asked after a failure.
      var retry = Int64.min
      /// Who waits for an answer.
      var waiting: [FirstOutcome<Void>] = []

      /// Whether a call waits for the question that is under way.
      var isWaitedFor: Bool {
        guard let question, !question.isLate else { return false }
        return switch held?.doubt {
        case nil: held == nil
        case .changed?: true
        case .refused?: refusals < 2
        }
      }

      /// Whether the next question is for another token than the last one.
      var isForced: Bool {
        guard let held else { return hasExpired }
        return held.doubt != .changed
      }

      /// The question is given up, or was answered.
      mutating func endQuestion() {
        question?.task.cancel()
        question = nil
        endWaits()
      }

      /// Nobody waits any more.
      mutating func endWaits() {
        for outcome in waiting { outcome.settle(.success(())) }
        waiting = []
      }
    }

    private let provider: any AppCheckProvider
    private let clock: any EngineClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Mutex(State())

    /// In milliseconds: how long the provider is left alone, how long an answer may take before it counts as lost, and how
    /// long the server must take tokens for the count of refusals to begin anew.
    private static let pause: Int64 = 30_000
    private static let patience: Int64 = 300_000
    private static let stableTime: Int64 = 30_000

    /// - Parameter sleep: waits for so long, or until the task is cancelled.
    init(
      _ provider: any AppCheckProvider, clock: any EngineClock = SystemClock(),
      sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
      self.provider = provider
      self.clock = clock
      self.sleep = sleep
    }

    // MARK: Calls

    /// The token for a call that begins now, waited for where that helps; nil when there is none.
    func current() async -> String? {
      let outcome = state.withLock { state -> (FirstOutcome<Void>, number: Int)? in
        askIfDue(&state)
        guard state.isWaitedFor, let question = state.question else { return nil }
        let outcome = FirstOutcome<Void>()
        state.waiting.append(outcome)
        return (outcome, question.number)
      }
      if let (outcome, number) = outcome { await wait(for: outcome, number) }
      return atHand
    }

    /// The token that there is, without any wait; nil when there is none.
    func ready() -> String? {
      state.withLock { askIfDue(&$0) }
      return atHand
    }

    private var atHand: String? {
      state.withLock { $0.held.flatMap { Credential($0.token.token).headerText } }
    }

    /// The server took a call with a token: what was refused before was not that one.
    func accepted(_ token: String?) {
      state.withLock { state in
        guard let token, let held = state.held, held.token.token == token else { return }
        if held.doubt == .refused { state.held?.doubt = nil }
        if state.acceptedAt == nil { state.acceptedAt = clock.now }
      }
    }

    /// The server took no call with a token; nothing happens when that is known, or when there is another one already.
    func refused(_ token: String?) {
      state.withLock { state in
        guard let token, let held = state.held, held.token.token == token, held.doubt == nil else {
          return
        }
        // A server may take each token only to refuse it soon after.
        if let since = state.acceptedAt, clock.now - since >= Self.stableTime { state.refusals = 0 }
        state.acceptedAt = nil
        state.refusals += 1
        state.held?.doubt = .refused
      }
    }

    /// The app has another token: the next call asks for it.
    ///
    /// A provider that was forced may say so before it gives that token: it is not asked once more for that.
    func changed() {
      state.withLock { state in
        if let question = state.question {
          if question.isForced { return }
          state.question?.isOutdated = true
          if question.isLate { state.endQuestion() }
        }
        (state.hasExpired, state.retry) = (false, .min)
        state.held?.doubt = .changed
      }
    }

    // MARK: The provider

    private func askIfDue(_ state: inout State) {
      let (now, wallTime) = (clock.now, clock.wallTime)
      if let held = state.held, held.hasExpired(at: wallTime) {
        (state.held, state.hasExpired) = (nil, true)
      }
      if let question = state.question, now - question.since >= Self.patience {
        state.endQuestion()
      }
      let isRepeated = state.held?.doubt == .refused && state.refusals > 1
      guard state.question == nil, state.held?.isWanting(at: wallTime) ?? true, now >= state.retry,
        !isRepeated || now - state.asked.at >= Self.pause
      else { return }
      state.asked = (now, state.asked.count + 1)
      state.question = Question(
        number: state.asked.count, isForced: state.isForced, since: now,
        task: ask(forcingRefresh: state.isForced, state.asked.count))
    }

    private func ask(forcingRefresh force: Bool, _ number: Int) -> Task<Void, Never> {
      Task.detached { [provider, weak self] in
        let answer: AppCheckToken?
        do { answer = try await provider.token(forcingRefresh: force) } catch { answer = nil }
        self?.take(answer, number)
      }
    }

    /// The provider has answered; nil when it failed.
    private func take(_ answer: AppCheckToken?, _ number: Int) {
      state.withLock { state in
        guard let question = state.question, question.number == number else { return }
        state.endQuestion()
        if let answer {
          state.held = HeldAppToken(answer, at: clock.wallTime)
          if question.isOutdated { state.held?.doubt = .changed }
          (state.hasExpired, state.retry) = (false, .min)
        } else if !question.isOutdated {
          state.retry = clock.now + Self.pause
        }
      }
    }

    private func wait(for outcome: FirstOutcome<Void>, _ number: Int) async {
      let limit = Task { [sleep] in
        try await sleep(.seconds(10))
        isLate(number)
      }
      defer { limit.cancel() }
      _ = await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        outcome.settle(.failure(CancellationError()))
      }
    }

    private func isLate(_ number: Int) {
      state.withLock { state in
        guard state.question?.number == number else { return }
        state.question?.isLate = true
        state.endWaits()
      }
    }
  }
#endif
