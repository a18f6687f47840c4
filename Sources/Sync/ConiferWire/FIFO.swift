/// A queue: appending and taking the first element cost constant time on average.
///
/// A taken element is released at once.
package struct FIFO<Element> {
  /// Those before `head` are nil.
  private var elements: [Element?] = []
  private var head = 0

  package init() {}

  package var isEmpty: Bool { head == elements.count }
  package var count: Int { elements.count - head }
  package var first: Element? { isEmpty ? nil : elements[head] }
  /// The elements in order.
  package var all: [Element] { elements[head...].compactMap { $0 } }

  package mutating func append(_ element: Element) { elements.append(element) }

  @discardableResult
  package mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head].take()
    head += 1
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  package mutating func removeAll() {
    elements = []
    head = 0
  }

  package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
    elements = all.filter { !isUnwanted($0) }
    head = 0
  }

  /// Changes every element.
  package mutating func changeAll(_ change: (inout Element) -> Void) {
    for i in head..<elements.count {
      guard var element = elements[i].take() else { continue }
      change(&element)
      elements[i] = element
    }
  }

  /// Inserts an element into an ordered queue, searching from the end.
  ///
  /// - Parameter comesAfter: whether an element belongs after the new one.
  package mutating func insert(_ element: Element, before comesAfter: (Element) -> Bool) {
    var position = elements.count
    while position > head, let last = elements[position - 1], comesAfter(last) { position -= 1 }
    elements.insert(element, at: position)
  }

  package func contains(where isWanted: (Element) -> Bool) -> Bool {
    elements[head...].contains { $0.map(isWanted) ?? false }
  }
}

extension FIFO: Sendable where Element: Sendable {}
