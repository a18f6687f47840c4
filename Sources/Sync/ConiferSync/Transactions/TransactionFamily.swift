import ConiferTree

/// Transactions at, above and below one another: they run in the order in which they were begun, and
/// are sent together.
struct TransactionFamily: Sendable {
  struct Member: Sendable {
    let order: UInt64
    let id: TransactionID
    /// The position of its newest write over the views.
    var writePosition: LanePosition?
    /// It has ended and stays where it is until a sweep removes all that ended.
    var isEnded = false
  }

  /// By order.
  private var members: [Member] = []
  private var ended = 0
  /// How many have a result to be sent.
  var readyCount = 0
  /// The newest write of the first `count` members, as it was found last.
  private var top: (count: Int, newest: LanePosition?) = (0, nil)
  /// How many members were visited; tests of the cost read it.
  private(set) var visits = 0

  /// A family of members by order.
  init(_ members: [Member] = []) { self.members = members }

  /// How many there are.
  var count: Int { members.count - ended }
  /// Whether all have a result to be sent.
  var isReady: Bool { readyCount == count }
  /// The members that have not ended, by order.
  var all: [Member] { members.filter { !$0.isEnded } }
  /// The first one's order.
  var first: UInt64? { members.first { !$0.isEnded }?.order }

  /// Adds a member that was begun after all others.
  mutating func append(_ member: Member) { members.append(member) }

  /// Removes a member.
  mutating func remove(_ order: UInt64) {
    let index = index(of: order)
    guard index < members.count, members[index].order == order, !members[index].isEnded else {
      return
    }
    members[index].isEnded = true
    ended += 1
    if index < top.count { top = (0, nil) }
    if ended > members.count / 2 {
      visits += members.count
      members.removeAll(where: \.isEnded)
      ended = 0
      top = (0, nil)
    }
  }

  /// Takes in a member's newest write over the views.
  mutating func set(_ writePosition: LanePosition, of order: UInt64) {
    let index = index(of: order)
    guard index < members.count, members[index].order == order else { return }
    members[index].writePosition = writePosition
    if index < top.count { top.newest = max(top.newest ?? writePosition, writePosition) }
  }

  /// Finds the newest write of the members before one; nil when they have none.
  ///
  /// It remembers what it found, so that asking about one member after the other, in their order, is cheap.
  mutating func findNewestWrite(before order: UInt64) -> LanePosition? {
    let index = index(of: order)
    if index < top.count { top = (0, nil) }
    while top.count < index {
      visits += 1
      let member = members[top.count]
      top.count += 1
      guard !member.isEnded, let other = member.writePosition else { continue }
      top.newest = max(top.newest ?? other, other)
    }
    return top.newest
  }

  /// The members that were begun after another one, or all.
  mutating func members(after order: UInt64?) -> [Member] {
    let rest = members[(order.map { index(of: $0 + 1) } ?? 0)...]
    visits += rest.count
    return rest.filter { !$0.isEnded }
  }

  /// The members that were begun before another one.
  mutating func members(before order: UInt64) -> [Member] {
    let rest = members[..<index(of: order)]
    visits += rest.count
    return rest.filter { !$0.isEnded }
  }

  /// The index of a member, or where it would be.
  private func index(of order: UInt64) -> Int {
    if let last = members.last, last.order < order { return members.count }
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) >> 1
      if members[middle].order < order { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
