import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What a stream of writes does.
@Suite struct WriteStreamTests {
  @Test("Batches are made and answered in order", arguments: TestStore.allCases)
  func order(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let writer = Writer(rig.link().transport.service)
    await rig.waitUntilIdle()
    #expect(writer.now.isOpen)
    writer.greet()
    await rig.waitUntilIdle()
    #expect(writer.now.greeted?.isEmpty == false)
    for n in 0..<8 as Range<Int64> {
      try writer.send(
        merge("a/1", [("n", .increment(1))]), set("a/last", [("n", .value(.integer(n)))]))
    }
    await rig.waitUntilIdle()
    #expect(writer.now.answers.map { $0.results[0].transforms } == (1...8).map { [.integer($0)] })
    #expect(
      zip(writer.now.answers, writer.now.answers.dropFirst()).allSatisfy {
        $0.commitTime < $1.commitTime
      })
    #expect(try await rig.server.document(document("a/last"), in: database)?.fields == ["n": 7])
    writer.close()
    await rig.waitUntilIdle()
    #expect(writer.now.closed == .some(nil))
    try await rig.server.close()
  }

  @Test("A refused batch ends the stream with its reason, and what was sent behind it is not made")
  func refused() async throws {
    let rig = try Rig()
    let writer = Writer(rig.link().transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    try writer.send(set("a/1", []))
    try writer.send(update("a/none", [("n", 1)]))
    try writer.send(set("a/2", []))
    await rig.waitUntilIdle()
    #expect(writer.now.answers.count == 1)
    #expect((writer.now.closed ?? nil)?.code == .notFound)
    #expect(try await rig.server.document(document("a/1"), in: database) != nil)
    #expect(try await rig.server.document(document("a/2"), in: database) == nil)
  }

  @Test("Writes before the greeting, a second greeting and a wrong token end the stream")
  func wrong() async throws {
    let rig = try Rig()
    let early = Writer(rig.link().transport.service)
    await rig.waitUntilIdle()
    try early.send(set("a/1", []))
    let twice = Writer(rig.link().transport.service)
    twice.greet()
    twice.greet()
    let token = Writer(rig.link().transport.service)
    token.greet()
    await rig.waitUntilIdle()
    try token.send(set("a/1", []), token: [1, 2])
    let malformed = Writer(rig.link().transport.service)
    malformed.greet([1, 2])
    await rig.waitUntilIdle()
    #expect((early.now.closed ?? nil)?.code == .failedPrecondition)
    #expect((twice.now.closed ?? nil)?.code == .invalidArgument)
    #expect((token.now.closed ?? nil)?.code == .invalidArgument)
    #expect((malformed.now.closed ?? nil)?.code == .invalidArgument)
    #expect(try await rig.server.document(document("a/1"), in: database) == nil)
  }

  @Test(
    "A batch whose answer was lost is not made twice when it comes again",
    arguments: TestStore.allCases)
  func lost(_ store: TestStore) async throws {
    var rig = try Rig(store)
    let link = rig.link()
    let increment = try merge("a/1", [("n", .increment(1)), ("at", .serverTimestamp)])
    let writer = Writer(link.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    writer.send(increment)
    await rig.waitUntilIdle()
    link.loseAnswers(next: 1)
    // Both are made; neither answer arrives.
    writer.send(increment)
    writer.send(increment)
    await rig.waitUntilIdle()
    #expect((writer.now.closed ?? nil)?.code == .unavailable)
    #expect(writer.now.answers.count == 1)
    let made = try await rig.server.document(document("a/1"), in: database)
    #expect(made?.fields["n"] == 3)

    if store != .memory { rig = try await rig.restarted(store) }
    let again = Writer(rig.link().transport.service)
    again.greet(writer.now.token)
    await rig.waitUntilIdle()
    again.send(increment)
    again.send(increment)
    again.send(increment)
    await rig.waitUntilIdle()
    #expect(again.now.closed == nil)
    #expect(again.now.answers.map { $0.results[0].transforms[0] } == [2, 3, 4])
    #expect(again.now.answers[1].commitTime == made?.updateTime)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 4)
    // Once answered, the same writes are new ones.
    again.send(increment)
    await rig.waitUntilIdle()
    #expect(again.now.answers.last?.results[0].transforms[0] == 5)
    try await rig.server.close()
  }

  @Test(
    "An equal batch with a number of its own is made, although the answer to another one was lost",
    arguments: TestStore.allCases)
  func equal(_ store: TestStore) async throws {
    var rig = try Rig(store)
    let link = rig.link()
    let increment = try merge("a/1", [("n", .increment(1))])
    let writer = Writer(link.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    link.loseAnswers(next: 1)
    for batch in 1...3 as ClosedRange<Int64> { writer.send(increment, batch: batch) }
    await rig.waitUntilIdle()
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 3)
    if store != .memory { rig = try await rig.restarted(store) }
    let again = Writer(rig.link().transport.service)
    again.greet(writer.now.token)
    await rig.waitUntilIdle()
    // The client has given the first two up. The third one comes again.
    for batch in 3...4 as ClosedRange<Int64> { again.send(increment, batch: batch) }
    await rig.waitUntilIdle()
    #expect(again.now.answers.map { $0.results[0].transforms } == [[3], [4]])
    // A batch without a number may be any of them.
    again.close()
    await rig.waitUntilIdle()
    let other = Writer(rig.link().transport.service)
    other.greet(writer.now.token)
    await rig.waitUntilIdle()
    for batch in [nil, 5] as [Int64?] { other.send(increment, batch: batch) }
    await rig.waitUntilIdle()
    #expect(other.now.answers.map { $0.results[0].transforms } == [[1], [5]])
    try await rig.server.close()
  }

  @Test("What comes late on a stream that broke is not made beside what came again")
  func late() async throws {
    let rig = try Rig()
    let (slow, quick) = (rig.link(), rig.link())
    let increment = try merge("a/1", [("n", .increment(1))])
    let writer = Writer(slow.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    let token = writer.now.token
    slow.hold(.toServer)
    writer.send(increment)
    let again = Writer(quick.transport.service)
    again.greet(token)
    await rig.waitUntilIdle()
    again.send(increment)
    await rig.waitUntilIdle()
    slow.release()
    await rig.waitUntilIdle()
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 1)
    #expect(again.now.answers.count == 1)
  }

  @Test("A stream that begins without a token, or another user's, remembers nothing")
  func others() async throws {
    let rig = try Rig()
    let link = rig.link()
    let increment = try merge("a/1", [("n", .increment(1))])
    let writer = Writer(link.transport.service, token: "ada")
    writer.greet()
    await rig.waitUntilIdle()
    let token = writer.now.token
    link.loseAnswers(next: 1)
    writer.send(increment)
    await rig.waitUntilIdle()
    let other = Writer(rig.link().transport.service, token: "bob")
    other.greet(token)
    await rig.waitUntilIdle()
    other.send(increment)
    let fresh = Writer(rig.link().transport.service, token: "ada")
    fresh.greet()
    await rig.waitUntilIdle()
    fresh.send(increment)
    await rig.waitUntilIdle()
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 3)
  }
}
