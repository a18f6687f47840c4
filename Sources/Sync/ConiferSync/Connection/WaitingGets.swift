import ConiferQuery
import ConiferWire

/// A read that waits for the server.
struct WaitingGet: Sendable {
  let id: OperationID
  let target: QueryTarget
  /// The uptime at which it was issued.
  let issued: Milliseconds
  /// How long it waits for a connection; nil for as long as reads do.
  var patience: Milliseconds?
}

/// The reads that wait to be sent, in the order in which they were issued.
struct WaitingGets: Sendable {
  private var gets = FIFO<WaitingGet>()
  /// Whether some may wait longer or shorter than others.
  private var differ = false
  /// Since when nothing can be read.
  private var blockedSince = Milliseconds.min

  /// Takes in a read, also one that was sent and not answered: it waits again, in its old order.
  mutating func add(_ get: WaitingGet) {
    differ = get.patience != nil || differ && !gets.isEmpty
    gets.insert(get) { $0.id.rawValue > get.id.rawValue }
  }

  mutating func popFirst() -> WaitingGet? { gets.popFirst() }

  /// Nothing can be read from now on.
  mutating func block(at now: Milliseconds) { blockedSince = now }

  /// When the first read gives up, if nothing can be read.
  func deadline(_ timeout: Milliseconds) -> Milliseconds? {
    guard differ else { return gets.first.map { giveUpTime($0, timeout) } }
    return gets.all.map { giveUpTime($0, timeout) }.min()
  }

  private func giveUpTime(_ get: WaitingGet, _ timeout: Milliseconds) -> Milliseconds {
    max(get.issued, blockedSince).adding(get.patience ?? timeout)
  }

  /// Takes out the reads that have waited longer than `patience`.
  mutating func removeExpired(at now: Milliseconds, _ timeout: Milliseconds) -> [OperationID] {
    guard !gets.isEmpty else { return [] }
    let expired = gets.all.filter { giveUpTime($0, timeout) <= now }.map(\.id)
    if !expired.isEmpty {
      let ids = Set(expired)
      gets.removeAll { ids.contains($0.id) }
    }
    return expired
  }

  /// Takes out all reads.
  mutating func removeAll() -> [OperationID] {
    defer { gets.removeAll() }
    return gets.all.map(\.id)
  }
}
