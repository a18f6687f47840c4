import Testing

@testable import ConiferDocumentServer

/// The memory of documents that are read for requests.
@Suite struct ReadShareTests {
  private static func memory() -> ReadMemory {
    var bounds = DocumentServerBounds()
    (bounds.read, bounds.reads) = (60_000, 100_000)
    return ReadMemory(bounds)
  }

  @Test("A request has so much, all have so much, and what is released is there for others")
  func bounds() {
    let memory = Self.memory()
    let first = ReadShare(of: memory)
    #expect(first.claim(50_000) && !first.claim(10_001) && first.claim(10_000))
    #expect(memory.count == 60_000)
    do {
      let second = ReadShare(of: memory)
      #expect(second.claim(40_000) && !second.claim(1))
      #expect(memory.count == 100_000)
      // Whoever has nothing yet may have a little.
      let third = ReadShare(of: memory)
      #expect(third.claim(97) && !third.claim(1))
      // What is given back is there for the others.
      #expect(first.claim(-30_000) && second.claim(20_000))
    }
    #expect(memory.count == 30_000)
    #expect(first.claim(30_000) && !first.claim(1))
  }
}
