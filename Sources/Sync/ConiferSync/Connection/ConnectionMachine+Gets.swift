import ConiferQuery
import ConiferWire

/// A read that waits for the server.
struct WaitingGet: Sendable {
  let id: OperationID
  let target: QueryTarget
  /// The uptime at which it was issued.
  let issued: Milliseconds
}

extension ConnectionMachine {
  /// Takes in a read. It has no place among the writes: who asked lays what waits over the answer.
  mutating func get(_ id: OperationID, _ target: QueryTarget) {
    gets.append(WaitingGet(id: id, target: target, issued: now.uptime))
    sendGets()
  }

  /// Whether the server knows who reads.
  private var canRead: Bool { session?.isAccepted == true && !isReadingHeld }

  /// Sends all reads that wait, unless the server does not know who the client is.
  mutating func sendGets() {
    while canRead, session?.authRequest == nil, let get = gets.first {
      gets.popFirst()
      send(.get(get.target), .get(get))
    }
  }

  /// A read was not answered, or for want of a token not done: it waits again, in its place.
  mutating func giveBack(_ get: WaitingGet) {
    gets.insert(get) { $0.id.rawValue > get.id.rawValue }
  }

  /// When the oldest waiting read gives up; nil while reads can be sent.
  var getDeadline: Milliseconds? {
    guard !canRead, let first = gets.first else { return nil }
    return giveUpTime(first)
  }

  private func giveUpTime(_ get: WaitingGet) -> Milliseconds {
    max(get.issued, unreadableSince).adding(limits.getTime)
  }

  /// Ends reads that waited too long; all while the app is away, as nothing can come.
  mutating func expireGets() {
    guard !canRead, !gets.isEmpty else { return }
    let isAway = closeReasons.contains(.offline) || closeReasons.contains(.shutdown)
    for get in gets.all where isAway || giveUpTime(get) <= now.uptime {
      actions.append(.getUnavailable(get.id))
    }
    let (time, machine) = (now.uptime, self)
    gets.removeAll { isAway || machine.giveUpTime($0) <= time }
  }
}
