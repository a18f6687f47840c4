import ConiferKeyValue

/// The probabilities of a link's random faults, such as broken streams and lost answers.
public struct LinkFaults: Sendable, Hashable {
  /// The probability that an attempt to open a stream, or a request without one, fails.
  public var refusedOpens = 0.0
  /// The probability, with each message, that its stream breaks instead of delivering it.
  public var cuts = 0.0
  /// The probability that a batch is made, and its stream breaks instead of delivering the answer.
  public var lostAnswers = 0.0

  /// What goes wrong by chance.
  ///
  /// - Parameters:
  ///   - refusedOpens: the probability that an attempt to open a stream fails.
  ///   - cuts: the probability that a message is lost with its stream.
  ///   - lostAnswers: the probability that the answer to a batch is lost with its stream.
  public init(refusedOpens: Double = 0, cuts: Double = 0, lostAnswers: Double = 0) {
    self.refusedOpens = refusedOpens
    self.cuts = cuts
    self.lostAnswers = lostAnswers
  }
}

/// The numbers of messages of each kind that a link has delivered.
public struct LinkCounts: Sendable, Hashable {
  /// Streams that reached the server.
  public var streams = 0
  /// Requests without a stream that reached the server.
  public var requests = 0
  /// Targets that the server was asked for.
  public var targets = 0
  /// Batches that reached the server, also those that it refused or had made before.
  public var batches = 0
  /// Documents that the client was told, also that they are gone.
  public var documents = 0
  /// Moments that the client was told.
  public var moments = 0

  /// No message.
  public init() {}
}

/// The faults that were asked for, and the numbers that decide the others.
struct LinkScript: Sendable {
  var faults = LinkFaults()
  var random: SplitMix64
  var isReachable = true
  var refusedOpens = 0
  var lostAnswers = 0
  var delays: [DocumentLink.Direction: ClosedRange<Duration>] = [:]
  var held: Set<DocumentLink.Direction> = []
  /// After how many messages all streams are cut.
  var cuts: [DocumentLink.Direction: Int] = [:]

  mutating func refusesOpen() -> Bool {
    if !isReachable { return true }
    if Self.take(&refusedOpens) { return true }
    return random.chance(faults.refusedOpens)
  }

  mutating func losesAnswer() -> Bool {
    Self.take(&lostAnswers) || random.chance(faults.lostAnswers)
  }

  /// Counts a delivered message; true when all streams are to be cut after it.
  mutating func takeCut(_ direction: DocumentLink.Direction) -> Bool {
    guard let left = cuts[direction] else { return false }
    cuts[direction] = left > 1 ? left - 1 : nil
    return left <= 1
  }

  mutating func delay(_ direction: DocumentLink.Direction) -> Duration {
    delays[direction].map { random.duration(in: $0) } ?? .zero
  }

  private static func take(_ count: inout Int) -> Bool {
    guard count > 0 else { return false }
    count -= 1
    return true
  }
}
