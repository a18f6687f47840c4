import ConiferDocument
import ConiferWire
import Synchronization

/// A server of documents that says what a test tells it to say.
///
/// Streams open and are greeted by themselves. Whatever is to reach the client waits until `deliver` is called, so that
/// one thing happens at a time.
final class ScriptedServer: DocumentService {
  struct Watch {
    let stream: ScriptedStream
    let receive: @Sendable (WatchStreamEvent) -> Void
    /// What the client listens to on the stream.
    var targets: [TargetID: WatchTarget] = [:]
    /// How often each target was removed.
    var removals: [TargetID: Int] = [:]
  }

  struct Writes {
    let stream: ScriptedStream
    /// Whose stream it is.
    let user: String?
    let receive: @Sendable (WriteStreamEvent) -> Void
    var isGreeted = false
    /// What was sent and not answered.
    var sent: [[Mutation]] = []
  }

  struct State {
    var watch: Watch?
    var writes: Writes?
    var deliveries: [@Sendable () -> Void] = []
    /// Which of a target's listens on one stream, from 0 on, the server speaks of; nil for the newest one.
    var listen: Int?
    var watchRequests = 0
    var writeRequests = 0
    /// How many tokens were given to be shown with the next request, and to whom, if anybody.
    var givenTokens: [String?] = []
    /// Whether the client has a token after a loss of power; nil when it shows the newest token whatever becomes of that.
    var isDurable: (@Sendable ([UInt8]) -> Bool)?
    /// The tokens of users that streams were opened with, since they were last asked for.
    var tokens: [String?] = []
    /// What the client did that no client may do.
    var faults: [String] = []
  }

  let state = Mutex(State())

  /// The client shows tokens that survive a loss of power, which need not be the newest ones.
  func expectDurableTokens(_ isDurable: @escaping @Sendable ([UInt8]) -> Bool) {
    state.withLock { $0.isDurable = isDurable }
  }

  // MARK: The service

  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    let stream = ScriptedStream(self)
    state.withLock { state in
      if state.watch != nil { state.faults.append("two streams of listens are open at once") }
      state.watch = Watch(stream: stream, receive: receive)
      state.tokens.append(token)
      state.deliveries.append { receive(.opened) }
    }
    return stream
  }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let stream = ScriptedStream(self)
    state.withLock { state in
      if state.writes != nil { state.faults.append("two streams of writes are open at once") }
      state.writes = Writes(stream: stream, user: token, receive: receive)
      state.tokens.append(token)
      state.deliveries.append { receive(.opened) }
    }
    return stream
  }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    throw refusal("looks documents up")
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    throw refusal("commits")
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    throw refusal("aggregates")
  }

  /// No case has the client do more than listen and write.
  private func refusal(_ what: String) -> StatusError {
    state.withLock { $0.faults.append("the client \(what)") }
    return StatusError(.unimplemented, "The scripted server does not do that.")
  }

  // MARK: What the client did

  /// Another client begins, whose requests are counted anew.
  func forgetCounts() { state.withLock { ($0.watchRequests, $0.writeRequests) = (0, 0) } }

  /// What the client listens to on the stream that is open; empty when none is.
  var targets: [TargetID: WatchTarget] { state.withLock { $0.watch?.targets ?? [:] } }
  /// Whether a stream of listens is open.
  var isWatched: Bool { state.withLock { $0.watch != nil } }
  /// What was sent on the stream of writes and not answered.
  var sent: [[Mutation]] { state.withLock { $0.writes?.sent ?? [] } }
  /// How many requests were made of each stream since the beginning; the end of a greeted stream of writes is one.
  var watchRequests: Int { state.withLock { $0.watchRequests } }
  var writeRequests: Int { state.withLock { $0.writeRequests } }

  /// What the client did since the last call that no client may do.
  ///
  /// - Parameter token: what every stream was to be opened with.
  func takeFaults(token: String?) -> [String] {
    state.withLock { state in
      defer { (state.faults, state.tokens) = ([], []) }
      return state.faults
        + state.tokens.filter { $0 != token }.map {
          "a stream was opened with the token \($0 ?? "none"), not \(token ?? "none")"
        }
    }
  }
}

extension ScriptedServer.State {
  var newestToken: [UInt8] { Array("\(givenTokens.count)".utf8) }

  /// A new token for who sends writes.
  mutating func giveToken(to user: String?) -> [UInt8] {
    givenTokens.append(user)
    return newestToken
  }

  /// What is wrong with a token that comes with writes; nil when it may come.
  func fault(of token: [UInt8], for user: String?) -> String? {
    guard let isDurable else {
      return token == newestToken
        ? nil : "writes are sent with the token \(token), not \(newestToken)"
    }
    if !wasGiven(token, to: user) { return "writes are sent with a token of somebody else" }
    return isDurable(token) ? nil : "writes are sent with a token that the power may take"
  }

  func wasGiven(_ token: [UInt8], to user: String?) -> Bool {
    guard let number = Int(String(decoding: token, as: UTF8.self)),
      givenTokens.indices.contains(number - 1)
    else { return false }
    return givenTokens[number - 1] == user
  }
}
