import ConiferDocument

/// The writes of each user that the server has not answered, in their order.
struct ScenarioWrites {
  private var waiting: [String?: [(number: Int, mutation: Mutation)]] = [:]
  private var newest = 0

  /// A user writes; gives the write's number.
  mutating func add(_ mutation: Mutation, of user: String?) -> Int {
    newest += 1
    waiting[user, default: []].append((newest, mutation))
    return newest
  }

  /// The server answers a user's oldest write.
  ///
  /// - Parameters:
  ///   - sent: what was sent to the server and not answered.
  ///   - keepsInQueue: whether the write is to be sent again.
  ///   - isRejected: whether a write was never stored, and so never sent.
  /// - Throws: when that is not the oldest one that was sent.
  mutating func answer(
    _ user: String?, sent: [[Mutation]], keepsInQueue: Bool = false, isRejected: (Int) -> Bool
  ) throws(ScenarioError) {
    var writes = waiting[user] ?? []
    writes.removeAll { isRejected($0.number) }
    guard let oldest = writes.first else { throw ScenarioError("no write waits for an answer") }
    guard sent.first == [oldest.mutation] else {
      throw ScenarioError(
        "\(sent.first.map { "\($0)" } ?? "nothing") was sent, not \(oldest.mutation)")
    }
    if !keepsInQueue { writes.removeFirst() }
    waiting[user] = writes
  }
}
