import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What is remembered of streams of writes, and for how long.
@Suite struct WriteMemoryTests {
  /// Streams that were greeted.
  private func greeted(_ rig: Rig, _ count: Int, on link: DocumentLink) async -> [Writer] {
    let writers = (0..<count).map { _ in Writer(link.transport.service) }
    for writer in writers { writer.greet() }
    await rig.waitUntilIdle()
    return writers
  }

  /// Makes streams that send one batch each, and close before they say that they have its answer.
  private func fill(_ rig: Rig, _ count: Int) async throws {
    let writers = await greeted(rig, count, on: rig.link())
    for writer in writers { try writer.send(set("a/others", [])) }
    await rig.waitUntilIdle()
    for writer in writers { writer.close() }
    await rig.waitUntilIdle()
  }

  @Test("An open stream's batches are remembered however many others there were before")
  func open() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    try await fill(rig, 1000)
    let link = rig.link()
    let increment = try merge("a/1", [("n", .increment(1))])
    let writer = await greeted(rig, 1, on: link)[0]
    let other = await greeted(rig, 1, on: rig.link())[0]
    link.loseAnswers(next: 1)
    writer.send(increment)
    await rig.waitUntilIdle()
    let again = Writer(rig.link().transport.service)
    again.greet(writer.now.token)
    await rig.waitUntilIdle()
    again.send(increment)
    await rig.waitUntilIdle()
    #expect(again.now.answers.map { $0.results[0].transforms } == [[1]])
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 1)
    try await rig.commit(set("a/2", []))
    #expect(try await backend.streams() <= 1001)
    #expect(other.now.closed == nil)
  }

  @Test("What is remembered of streams stays within its bound, also across restarts")
  func bound() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let writers = await greeted(rig, 1010, on: rig.link())
    for writer in writers { try writer.send(set("a/others", [])) }
    await rig.waitUntilIdle()
    #expect(try await backend.streams() == 1010)
    try await rig.server.close()
    let again = try Rig(backend)
    try await again.commit(set("a/1", []))
    #expect(try await backend.streams() == 1000)
  }

  @Test("A stream that has ended and whose answers were had leaves nothing in the store")
  func nothing() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    for _ in 0..<8 {
      let writers = await greeted(rig, 1, on: rig.link())
      for _ in 0..<2 {
        try writers[0].send(merge("a/1", [("n", .increment(1))]))
        await rig.waitUntilIdle()
      }
      writers[0].close()
      let again = Writer(rig.link().transport.service)
      again.greet(writers[0].now.token)
      await rig.waitUntilIdle()
      again.close()
      await rig.waitUntilIdle()
    }
    try await rig.commit(set("a/2", []))
    #expect(try await backend.streams() == 0)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 16)
  }

  @Test("A stream ends when too many answers of it are not said to have arrived")
  func unanswered() async throws {
    let rig = try Rig()
    let writer = await greeted(rig, 1, on: rig.link())[0]
    let token = writer.now.token
    for _ in 0..<1001 { try writer.send(merge("a/1", [("n", .increment(1))]), token: token) }
    await rig.waitUntilIdle()
    #expect((writer.now.closed ?? nil)?.code == .resourceExhausted)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 1000)
    // One that goes on may send again.
    let again = Writer(rig.link().transport.service)
    again.greet(writer.now.token)
    await rig.waitUntilIdle()
    try again.send(merge("a/1", [("n", .increment(1))]), token: writer.now.token)
    await rig.waitUntilIdle()
    #expect(again.now.answers.map { $0.results[0].transforms } == [[1001]])
  }
}
