import Synchronization

/// What closures of any thread gather, in the order of their calls.
package final class Gathered<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  package init() {}

  package func add(_ element: Element) { elements.withLock { $0.append(element) } }

  /// What came and was not taken out.
  package var all: [Element] { elements.withLock { $0 } }

  /// Takes out what came.
  package func take() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}
