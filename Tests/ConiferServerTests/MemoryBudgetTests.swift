import Testing

@testable import ConiferServer

/// The memory that many hold together.
@Suite struct MemoryBudgetTests {
  @Test func `However many come, together they hold the limit and a quarter of it at most`() {
    let limit = 1 << 30
    let budget = MemoryBudget(limit)
    for count in 1...10_000 {
      _ = budget.reserve(0, min(32 << 20, limit / count))
      #expect(budget.bytes <= limit + limit / 4)
    }
    // Little by little, too.
    while budget.reserve(0, 16 << 10) {}
    #expect(budget.bytes <= limit + limit / 4)
    #expect(budget.bytes > limit)
  }

  @Test func `Who holds little finds room although all is taken`() {
    let budget = MemoryBudget(1 << 20)
    #expect(budget.reserve(0, 1 << 20))
    #expect(!budget.reserve(0, (16 << 10) + 1))
    #expect(budget.reserve(0, 16 << 10))
    #expect(!budget.reserve(16 << 10, 20 << 10))
    #expect(budget.reserve(16 << 10, 8 << 10))
  }

  @Test func `One that may exceed leaves room for those that hold little`() {
    let budget = MemoryBudget(1 << 20)
    #expect(!budget.reserve(0, 3 << 20))
    #expect(budget.reserve(0, 3 << 20, mayExceed: true))
    #expect(!budget.reserve(0, 3 << 20, mayExceed: true))
    #expect(budget.reserve(0, 16 << 10))
    #expect(budget.reserve(3 << 20, 4 << 20, mayExceed: true))
    budget.account(4 << 20, 0)
    #expect(budget.bytes == 16 << 10)
  }

  @Test func `Of many who want too much together one goes on`() {
    let budget = MemoryBudget(1000)
    let shares = (0..<8).map { _ in MemoryShare(of: budget) }
    var open = shares
    for size in stride(from: 50, through: 900, by: 50) {
      open.removeAll { !$0.claim(size, mayExceed: true) }
      #expect(budget.bytes == open.count * size)
    }
    #expect(open.count == 1)
    // Who was refused holds nothing, and may begin anew.
    #expect(shares.allSatisfy { $0 === open.first || $0.claim(10) })
    #expect(budget.bytes == 970)
  }

  @Test func `A share is given back when nobody holds it any more`() {
    let budget = MemoryBudget(1000)
    var share: MemoryShare? = MemoryShare(of: budget)
    #expect(share?.hold(700) == true)
    #expect(share?.hold(900) == true)
    #expect(budget.bytes == 900)
    #expect(share?.hold(5000) == false)
    share = nil
    #expect(budget.bytes == 0)
  }
}
