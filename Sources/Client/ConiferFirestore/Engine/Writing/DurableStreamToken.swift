/// A token of the stream of writes, with the reason why it must be durable.
enum StreamToken: Sendable {
  /// The greeting to the server will contain it.
  case greeting([UInt8])
  /// The server answered the greeting with it.
  case greeted([UInt8])
  /// It came with an answer to a write.
  case answered([UInt8])

  var bytes: [UInt8] {
    switch self {
    case .greeting(let bytes), .greeted(let bytes), .answered(let bytes): bytes
    }
  }
}

/// The token of a user's stream of writes that survives a loss of power, where the app's writes do.
///
/// The server forgets its answers up to the token that the client sends. So the client sends a
/// durable token: a loss of power may put an answered write back into the queue, and the server
/// must recognise it.
struct DurableStreamToken {
  /// How many answers come between two tokens that are made durable. Each such token costs a sync,
  /// and the server remembers at most a hundred answers.
  private static let interval = 16

  /// The last token that is durable.
  private(set) var token: [UInt8] = []
  private var answers = 0
  private var waiting: StreamNumber?

  func isDurable(_ token: [UInt8]) -> Bool { !token.isEmpty && token == self.token }

  /// A stream waits for its token.
  mutating func wait(for stream: StreamNumber) { waiting = stream }

  func isWaiting(for stream: StreamNumber) -> Bool { waiting == stream }

  /// Counts an answer that was stored.
  ///
  /// - Returns: whether its token is to be made durable.
  mutating func isDue(_ survivePower: Bool) -> Bool {
    guard survivePower else { return false }
    answers = (answers + 1) % Self.interval
    return answers == 0
  }

  /// A token is durable.
  mutating func end(_ token: StreamToken) {
    if case .answered = token {} else { waiting = nil }
    self.token = token.bytes
  }
}
