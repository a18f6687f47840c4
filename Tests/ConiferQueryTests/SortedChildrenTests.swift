import ConiferTree
import Testing

@testable import ConiferQuery

@Suite struct `Children in the order of a query` {
  @Test(arguments: [100, 1_000, 100_000])
  func `the next one into a window is found by halving, however many there are`(
    _ count: Int
  ) throws {
    var sorted = SortedChildren(
      (0..<count).map { number in
        .init(value: Node(.integer(Int64(number * 7919 % count))), key: Key("k\(number)"))
      })
    let most = 2 + Int.bitWidth - count.leadingZeroBitCount
    // As children leave the front of a window, one after the other.
    for _ in 0..<min(count - 1, 500) {
      let first = try #require(sorted.first)
      let place = sorted.place(of: first)
      try #require(place.isFound && place.comparisons <= most, "\(place.comparisons) of \(count)")
      let next = try #require(sorted.after(first))
      sorted.remove(first)
      #expect(sorted.first?.key == next.key)
      try #require(sorted.place(of: first).comparisons <= most)
    }
  }
}
