import Testing

@testable import ConiferDocumentSync

@Suite struct `A sorted list` {
  private static func list() -> SortedList<Int> { SortedList { $0 - $1 } }

  @Test func `finds, counts and removes as a sorted array does`() {
    var list = Self.list()
    var model: [Int] = []
    var state: UInt64 = 7
    for step in 0..<4000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let element = Int(state >> 33) % 700
      // It grows, then shrinks.
      if (state >> 20) % 10 < (step < 2000 ? 7 : 2) {
        list.insert(element)
        if !model.contains(element) { model.append(element) }
      } else {
        list.remove(element)
        model.removeAll { $0 == element }
      }
    }
    #expect(Array(list) == model.sorted() && list.count == model.count)
    for element in 0..<700 {
      #expect(list.find(element) == (model.contains(element) ? element : nil))
      #expect(list.index(of: element) == model.sorted().firstIndex(of: element))
    }
    for element in model { list.remove(element) }
    #expect(list.count == 0 && list.first == nil && list.last == nil && Array(list).isEmpty)
  }

  @Test(arguments: [0, 1, 32, 33, 1000])
  func `of sorted elements is as if they had been inserted`(count: Int) {
    var list = SortedList(sorted: (0..<count).map { 2 * $0 }[...]) { $0 - $1 }
    #expect(Array(list) == (0..<count).map { 2 * $0 } && list.count == count)
    for element in 0..<count { list.insert(2 * element + 1) }
    #expect(
      Array(list) == Array(0..<2 * count)
        && list.index(of: 2 * count - 1) == (count > 0 ? 2 * count - 1 : nil))
    for element in 0..<count { list.remove(2 * element) }
    #expect(Array(list) == (0..<count).map { 2 * $0 + 1 } && list.count == count)
  }

  @Test func `replaces an element in its place, and one whose place is another`() {
    // In the order of their tens, then of their ones from the greatest down.
    func list(_ elements: [Int]) -> SortedList<Int> {
      var list = SortedList<Int> { a, b in a / 10 != b / 10 ? a / 10 - b / 10 : b % 10 - a % 10 }
      for element in elements { list.insert(element) }
      return list
    }
    let all = (0..<100).map { 10 * $0 + 5 }
    for old in all {
      // Within its place, at both ends of what may stand there, and elsewhere.
      for new in [old - 5, old + 4, old - 5 + 300, old - 300] where new >= 0 {
        var changed = list(all)
        changed.replace(old, with: new)
        let expected = list(all.filter { $0 != old } + [new])
        #expect(Array(changed) == Array(expected), "\(old) by \(new)")
        #expect(changed.count == expected.count)
      }
    }
  }

  @Test func `is a value: a copy stays as it was`() {
    var list = Self.list()
    for element in 0..<300 { list.insert(element) }
    let copy = list
    for element in 100..<200 { list.remove(element) }
    #expect(copy.count == 300 && copy.index(of: 150) == 150)
    #expect(list.count == 200 && list.index(of: 200) == 100)
  }
}
