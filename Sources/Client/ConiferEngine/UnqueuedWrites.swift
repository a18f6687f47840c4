/// Writes of the app that are not in the queue yet, in order. Those that follow one another share a commit.
package final class UnqueuedWrites<Content> {
  /// The most writes that share a commit.
  private static var largestGroup: Int { 256 }

  private var writes: [(content: Content, caller: WriteCaller)] = []

  package init() {}

  package var isEmpty: Bool { writes.isEmpty }
  /// Whether there are as many as should share a commit.
  package var isFull: Bool { writes.count >= Self.largestGroup }

  package func add(_ content: Content, _ caller: WriteCaller) { writes.append((content, caller)) }

  package func takeAll() -> [(content: Content, caller: WriteCaller)] {
    defer { writes = [] }
    return writes
  }
}
