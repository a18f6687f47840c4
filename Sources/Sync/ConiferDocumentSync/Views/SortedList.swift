/// Elements in an order that a function gives; no two have the same place in it.
///
/// The elements lie in chunks, and finding one takes two binary searches. A copy shares all chunks.
/// A change of a copy moves the elements of one chunk and the references to the other chunks, so
/// each change of a snapshot of ten thousand documents costs a few hundred steps instead of ten
/// thousand. Chunks are short because an element costs more to copy than a reference. A tree would
/// need fewer steps from about a million elements on, but much more code.
struct SortedList<Element: Sendable>: Sendable {
  /// Negative, zero or positive.
  typealias Order = @Sendable (Element, Element) -> Int

  private static var longestChunk: Int { 32 }

  let order: Order
  /// None is empty.
  private var chunks: [[Element]] = []
  /// How many elements there are.
  private(set) var count = 0

  init(_ order: @escaping Order) { self.order = order }

  /// Elements that are in an order already, no two in one place.
  init(sorted elements: ArraySlice<Element>, _ order: @escaping Order) {
    self.order = order
    count = elements.count
    let end = elements.endIndex
    chunks = stride(from: elements.startIndex, to: end, by: Self.longestChunk).map { start in
      Array(elements[start..<Swift.min(start + Self.longestChunk, end)])
    }
  }

  var first: Element? { chunks.first?.first }
  var last: Element? { chunks.last?.last }

  /// The element with the place of another one.
  func find(_ element: Element) -> Element? {
    let place = locate(element)
    return place.isFound ? chunks[place.chunk][place.offset] : nil
  }

  /// How many elements come before the one with the place of another one; nil when there is none.
  func index(of element: Element) -> Int? {
    let place = locate(element)
    guard place.isFound else { return nil }
    return chunks[..<place.chunk].reduce(place.offset) { $0 + $1.count }
  }

  /// Takes an element in, instead of one with the same place.
  ///
  /// - Returns: the one that it replaced.
  @discardableResult
  mutating func insert(_ element: Element) -> Element? {
    let place = locate(element)
    if place.isFound {
      let old = chunks[place.chunk][place.offset]
      chunks[place.chunk][place.offset] = element
      return old
    }
    count += 1
    guard place.chunk < chunks.count else {
      chunks.append([element])
      return nil
    }
    chunks[place.chunk].insert(element, at: place.offset)
    let length = chunks[place.chunk].count
    guard length > Self.longestChunk else { return nil }
    let upper = Array(chunks[place.chunk][(length / 2)...])
    chunks[place.chunk].removeLast(upper.count)
    chunks.insert(upper, at: place.chunk + 1)
    return nil
  }

  /// Takes an element in, instead of one that may have another place.
  mutating func replace(_ old: Element, with new: Element) {
    let place = locate(old)
    guard place.isFound, isBetween(new, place.chunk, place.offset) else {
      remove(old)
      insert(new)
      return
    }
    chunks[place.chunk][place.offset] = new
  }

  /// Whether an element may stand where another one stands: behind the one before it and before the next one.
  private func isBetween(_ element: Element, _ chunk: Int, _ offset: Int) -> Bool {
    let before =
      offset > 0 ? chunks[chunk][offset - 1] : chunk > 0 ? chunks[chunk - 1].last : nil
    if let before, order(before, element) >= 0 { return false }
    let isLast = offset + 1 == chunks[chunk].count
    let behind =
      !isLast ? chunks[chunk][offset + 1] : chunk + 1 < chunks.count ? chunks[chunk + 1][0] : nil
    return behind.map { order(element, $0) < 0 } ?? true
  }

  /// Removes the element with the place of another one, if there is one.
  mutating func remove(_ element: Element) {
    let place = locate(element)
    guard place.isFound else { return }
    count -= 1
    chunks[place.chunk].remove(at: place.offset)
    let next = place.chunk + 1
    if chunks[place.chunk].isEmpty {
      chunks.remove(at: place.chunk)
    } else if next < chunks.count,
      chunks[place.chunk].count + chunks[next].count <= Self.longestChunk / 2
    {
      chunks[place.chunk] += chunks.remove(at: next)
    }
  }

  /// Where an element is, or would be inserted.
  private func locate(_ element: Element) -> (chunk: Int, offset: Int, isFound: Bool) {
    // The last chunk that begins no later than the element.
    let behind = chunks.partitioningIndex { order($0[0], element) > 0 }
    let chunk = Swift.max(behind - 1, 0)
    guard chunk < chunks.count else { return (0, 0, false) }
    let offset = chunks[chunk].partitioningIndex { order($0, element) >= 0 }
    let isFound = offset < chunks[chunk].count && order(chunks[chunk][offset], element) == 0
    return (chunk, offset, isFound)
  }
}

extension SortedList: Sequence {
  func makeIterator() -> FlattenSequence<[[Element]]>.Iterator {
    chunks.joined().makeIterator()
  }
}

extension ArraySlice {
  /// Whether each element comes before the next one.
  func isSorted(by order: SortedList<Element>.Order) -> Bool where Element: Sendable {
    indices.dropFirst().allSatisfy { order(self[$0 - 1], self[$0]) < 0 }
  }
}

extension Array {
  /// The first index whose element a test holds for, when it holds for all behind it, too.
  fileprivate func partitioningIndex(where test: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if test(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
