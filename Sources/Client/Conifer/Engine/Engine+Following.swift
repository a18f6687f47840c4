extension Engine {
  /// Who waits for the end of a queued write: a completion block, or a receipt while somebody holds it.
  struct Follower {
    private(set) weak var receipt: WriteReceipt?
    let completion: (@Sendable (DatabaseError?) -> Void)?

    init(_ follow: Follow) {
      receipt = follow.receipt
      completion = follow.completion
    }

    /// Whether nobody is left to be told.
    var isNobody: Bool { receipt == nil && completion == nil }
  }

  /// Notes who is to be told of a write's end.
  func follow(_ id: WriteReceipt.ID, _ follow: Follow) { self.follow(id, Follower(follow)) }

  func follow(_ id: WriteReceipt.ID, _ follower: Follower) {
    // Looked at once: it may go at any time.
    let receipt = follower.receipt
    guard receipt != nil || follower.completion != nil else { return }
    followers[id, default: []].append(follower)
    receipt?.whenReleased { [weak self] in self?.post(.released(id)) }
  }

  /// Nobody holds a receipt of a write any longer: nothing is kept of it.
  func released(_ id: WriteReceipt.ID) {
    followers[id]?.removeAll(where: \.isNobody)
    if followers[id]?.isEmpty == true { followers[id] = nil }
  }
}
