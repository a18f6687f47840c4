import ConiferSync
import ConiferWire

/// Asks the provider of the app's own tokens, off the engine's thread.
final class AppTokens {
  private let provider: (any AppCheckProvider)?
  private let connection: Connection
  private let post: @Sendable (Step) -> Void
  /// The newest question, until it is answered; answers to earlier ones are out of date.
  private var question: (number: UInt64, task: Task<Void, Never>)?

  init(
    _ provider: (any AppCheckProvider)?, _ connection: Connection,
    _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.provider = provider
    self.connection = connection
    self.post = post
  }

  /// Whether an answer of the provider is waited for.
  var isAsking: Bool { question != nil }

  /// Asks the provider.
  ///
  /// - Parameters:
  ///   - force: whether a token that it still has must not be given again.
  ///   - number: the question's.
  func fetch(force: Bool, _ number: UInt64) {
    guard let provider else { return }
    question?.task.cancel()
    let task = Task.detached { [post] in
      let answer: AppTokenAnswer
      do {
        let token = try await provider.token(forcingRefresh: force)
        answer = .token(AppToken(Credential(token.token), expiry: token.expiry))
      } catch {
        // Its words may hold a token, and are logged.
        answer = .failed("\(type(of: error))")
      }
      post(.appTokenAnswered(answer, number))
    }
    question = (number, task)
  }

  /// The provider has answered.
  func answered(_ answer: AppTokenAnswer, _ number: UInt64) {
    if question?.number == number { question = nil }
    connection.tell(.appToken(answer, fetch: number))
  }

  /// The database is closed: nobody is asked any longer.
  func close() {
    question?.task.cancel()
    question = nil
  }
}
