import Testing

/// The fewest items that still fail, as far as taking some of them away shows it (Zeller and
/// Hildebrandt, "Simplifying and isolating failure-inducing input").
///
/// - Parameters:
///   - items: fail together.
///   - limit: how many attempts are made at most.
///   - fails: whether some of the items, in their order, fail.
func shrunk<Item>(
  _ items: [Item], limit: Int = 400, _ fails: ([Item]) async throws -> Bool
) async rethrows -> [Item] {
  var (items, size, left) = (items, max(1, items.count / 2), limit)
  while true {
    var (start, isSmaller) = (0, false)
    while start < items.count, left > 0 {
      let rest = Array(items[..<start] + items[min(start + size, items.count)...])
      left -= 1
      if try await fails(rest) {
        items = rest
        isSmaller = true
      } else {
        start += size
      }
    }
    if left == 0 || size == 1 && !isSmaller { return items }
    size = max(1, size / 2)
  }
}

@Suite struct ShrinkingTests {
  @Test func `What fails together stays, in order, and nothing else`() async {
    var attempts = 0
    let least = await shrunk(Array(0..<100)) { items in
      attempts += 1
      return items.contains(17) && items.contains(63) && items.contains(64)
    }
    #expect(least == [17, 63, 64])
    #expect(attempts < 100)
  }

  @Test func `What fails by itself is shrunk to nothing, and attempts are bounded`() async {
    #expect(await shrunk([1, 2, 3]) { _ in true } == [])
    var attempts = 0
    let all = await shrunk(Array(0..<50), limit: 10) { items in
      attempts += 1
      return items.count == 50
    }
    #expect(all.count == 50 && attempts == 10)
  }
}
