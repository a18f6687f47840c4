#if GRPC
  import ConiferEngine
  import ConiferWire
  import Synchronization

  /// The app's own tokens as calls show them: the last one of the provider, until it expires or is refused.
  ///
  /// One question is asked at a time. A call waits ten seconds at most for the answer, and goes without a token then. After a
  /// failure, and after a second refusal in a row, calls go without one for 30 seconds.
  final class AppCheckTokens: Sendable {
    private struct State {
      var token: AppCheckToken?
      /// When the token ends, and from when on another one is asked for meanwhile, in milliseconds since 1970.
      var expiry = Int64.max
      var renewal = Int64.max
      /// When the provider may be asked again.
      var retry = Int64.min
      /// Whether the last token is of no use, so that another one is to be given.
      var mustForce = false
      var refusals = 0
      /// The question that is under way.
      var question: Task<Void, Never>?
      /// Whether it has taken so long that nobody waits for it any more.
      var isLate = false
    }

    private let provider: any AppCheckProvider
    private let clock: any EngineClock
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Mutex(State())

    private static let pause: Int64 = 30_000
    private static let longestMargin: Int64 = 300_000

    /// - Parameter sleep: waits for so long, or until the task is cancelled.
    init(
      _ provider: any AppCheckProvider, clock: any EngineClock = SystemClock(),
      sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
      self.provider = provider
      self.clock = clock
      self.sleep = sleep
    }

    /// The token for a call that begins now; nil when there is none.
    func current() async -> String? {
      let question = state.withLock { state -> Task<Void, Never>? in
        let now = clock.wallTime
        if now >= state.expiry {
          state.token = nil
          (state.expiry, state.renewal, state.mustForce) = (.max, .max, true)
        }
        let isDue = state.token == nil || now >= state.renewal
        if isDue, state.question == nil, now >= state.retry {
          state.question = ask(forcingRefresh: state.mustForce || state.token != nil)
        }
        return state.token == nil && !state.isLate ? state.question : nil
      }
      if let question { await wait(for: question) }
      return state.withLock { $0.token.flatMap { Credential($0.token).headerText } }
    }

    /// The server took a call with the token.
    func accepted() { state.withLock { $0.refusals = 0 } }

    /// The server took no call with a token; nothing happens when there is another one already.
    func refused(_ token: String?) {
      state.withLock { state in
        guard let token, state.token?.token == token else { return }
        state.token = nil
        (state.expiry, state.renewal, state.mustForce) = (.max, .max, true)
        state.refusals += 1
        if state.refusals > 1 { state.retry = clock.wallTime + Self.pause }
      }
    }

    private func ask(forcingRefresh force: Bool) -> Task<Void, Never> {
      Task.detached { [self] in
        let answer: Result<AppCheckToken, any Error>
        do {
          answer = .success(try await provider.token(forcingRefresh: force))
        } catch {
          answer = .failure(error)
        }
        state.withLock { take(answer, &$0) }
      }
    }

    private func take(_ answer: Result<AppCheckToken, any Error>, _ state: inout State) {
      (state.question, state.isLate) = (nil, false)
      let now = clock.wallTime
      switch answer {
      case .failure: state.retry = now + Self.pause
      case .success(let token):
        (state.token, state.mustForce, state.retry) = (token, false, .min)
        (state.expiry, state.renewal) = (.max, .max)
        // Where its end is past already, only the server can tell when it is over.
        guard let end = token.expiry, end > now else { return }
        state.expiry = end
        state.renewal = end - min(Self.longestMargin, (end - now) / 2)
      }
    }

    private func wait(for question: Task<Void, Never>) async {
      let outcome = FirstOutcome<Bool>()
      let answer = Task {
        await question.value
        outcome.settle(.success(true))
      }
      let limit = Task { [sleep] in
        try await sleep(.seconds(10))
        outcome.settle(.success(false))
      }
      defer {
        answer.cancel()
        limit.cancel()
      }
      let result = await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        outcome.settle(.failure(CancellationError()))
      }
      if case .success(false) = result {
        state.withLock { if $0.question != nil { $0.isLate = true } }
      }
    }
  }
#endif
