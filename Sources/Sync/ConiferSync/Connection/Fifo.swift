/// A queue whose first element is taken in constant time.
struct Fifo<Element> {
  private var elements: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }
  var first: Element? { isEmpty ? nil : elements[head] }
  var last: Element? { isEmpty ? nil : elements.last }
  /// The elements in order.
  var all: ArraySlice<Element> { elements[head...] }

  mutating func append(_ element: Element) { elements.append(element) }

  @discardableResult
  mutating func removeFirst() -> Element? {
    guard !isEmpty else { return nil }
    defer {
      head += 1
      if head > 32, head * 2 > elements.count {
        elements.removeFirst(head)
        head = 0
      }
    }
    return elements[head]
  }

  mutating func removeAll() {
    elements = []
    head = 0
  }

  /// Changes the first element.
  mutating func changeFirst(_ change: (inout Element) -> Void) {
    if !isEmpty { change(&elements[head]) }
  }

  /// Changes every element.
  mutating func changeAll(_ change: (inout Element) -> Void) {
    for i in head..<elements.count { change(&elements[i]) }
  }

  mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    elements = all.filter { !isUnwanted($0) }
    head = 0
  }

  /// Inserts an element before the first one that comes after it; cheap near the end.
  mutating func insert(_ element: Element, before comesAfter: (Element) -> Bool) {
    var position = elements.count
    while position > head, comesAfter(elements[position - 1]) { position -= 1 }
    elements.insert(element, at: position)
  }
}

extension Fifo: Sendable where Element: Sendable {}
