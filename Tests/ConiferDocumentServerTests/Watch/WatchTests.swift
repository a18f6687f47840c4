import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What a stream of listens is told.
@Suite struct WatchTests {
  @Test(
    "A target begins with its documents and is then current, as of one moment",
    arguments: TestStore.allCases)
  func begin(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let time = try await rig.commit(set("rooms/a", [("n", 1)]), set("rooms/b", [("n", 2)]))
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    let said = listener.take()
    #expect(said.count == 5)
    #expect(said.first == .targets(.added, [2]))
    if case .targets(.current, let ids, let token) = said[3] {
      #expect(ids == [2])
      #expect(!token.isEmpty)
    } else {
      Issue.record("\(said)")
    }
    #expect(listener.paths(2) == ["rooms/a", "rooms/b"])
    #expect(listener.now.version == time)
    #expect(listener.now.documents[document("rooms/a")]?.version == time)
    try await rig.server.close()
  }

  @Test("Changes, documents that leave and deletions are told", arguments: TestStore.allCases)
  func changes(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let made = try await rig.commit(set("rooms/a", [("n", 1)]), set("rooms/b", [("n", 2)]))
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms").filtered(.field(field("n"), .lessThan, 10)))
    await rig.waitUntilIdle()
    _ = listener.take()
    let left = try await rig.commit(set("rooms/a", [("n", 20)]))
    await rig.waitUntilIdle()
    let gone = Document(
      document("rooms/a"), .found(["n": 20]), version: left, readTime: left, createTime: made)
    #expect(listener.take().first == .document(gone, matching: [], leaving: [2]))
    #expect(listener.paths(2) == ["rooms/b"])
    let deleted = try await rig.commit(delete("rooms/b"), set("rooms/c", [("n", 3)]))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/c"])
    #expect(listener.now.documents[document("rooms/b")]?.state == .missing)
    #expect(listener.now.documents[document("rooms/b")]?.version == deleted)
    _ = listener.take()
    // What never matched is not told, nor is what is elsewhere.
    try await rig.commit(set("rooms/d", [("n", 30)]), set("rooms/c/messages/m", [("n", 1)]))
    await rig.waitUntilIdle()
    #expect(listener.take() == [])
    try await rig.server.close()
  }

  @Test("A document is told once with all targets of the stream")
  func once() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    listener.add(4, only("rooms/a"))
    listener.add(6, group("rooms"))
    try listener.add(8, query("rooms").filtered(.field(field("n"), .equal, 1)))
    await rig.waitUntilIdle()
    _ = listener.take()
    let first = try await rig.commit(set("rooms/a", [("n", 1)]))
    await rig.waitUntilIdle()
    let a = Document(
      document("rooms/a"), .found(["n": 1]), version: first, readTime: first, createTime: first)
    #expect(listener.take().first == .document(a, matching: [2, 4, 6, 8]))
    let second = try await rig.commit(set("rooms/a", [("n", 2)]))
    await rig.waitUntilIdle()
    let b = Document(
      document("rooms/a"), .found(["n": 2]), version: second, readTime: second, createTime: first)
    #expect(listener.take().first == .document(b, matching: [2, 4, 6], leaving: [8]))
    listener.remove(4)
    await rig.waitUntilIdle()
    #expect(listener.take().first == .targets(.removed, [4]))
    try await rig.commit(delete("rooms/a"))
    await rig.waitUntilIdle()
    if case .document(let gone, [], let leaving) = listener.take().first {
      #expect(gone.state == .missing)
      #expect(leaving == [2, 6])
    } else {
      Issue.record("The deletion was not told.")
    }
  }

  @Test(
    "A document that moves into the window is told when another one leaves it",
    arguments: TestStore.allCases)
  func window(_ store: TestStore) async throws {
    let rig = try Rig(store)
    for n in 1...5 { try await rig.commit(set("rooms/r\(n)", [("n", .value(.integer(Int64(n))))])) }
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms").ordered(by: field("n")).limited(to: 3))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/r1", "rooms/r2", "rooms/r3"])
    _ = listener.take()
    try await rig.commit(delete("rooms/r2"))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/r1", "rooms/r3", "rooms/r4"])
    try await rig.commit(set("rooms/r0", [("n", 0)]))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/r0", "rooms/r1", "rooms/r3"])
    #expect(listener.take().contains(.left(document("rooms/r4"), [2])))
    try await rig.commit(set("rooms/r1", [("n", 9)]))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/r0", "rooms/r3", "rooms/r4"])
    _ = listener.take()
    try await rig.commit(set("rooms/r5", [("n", 8)]))
    await rig.waitUntilIdle()
    #expect(listener.take() == [])
    try await rig.server.close()
  }

  @Test("A single document is told when it is made, changed and deleted")
  func single() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    listener.add(2, only("rooms/a"))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == [])
    #expect(listener.now.targets[2]?.isCurrent == true)
    try await rig.commit(set("rooms/a", [("n", 1)]))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/a"])
    try await rig.commit(delete("rooms/a"))
    await rig.waitUntilIdle()
    #expect(listener.now.documents[document("rooms/a")]?.state == .missing)
  }

  @Test("A target that no query has is refused with a reason; the others go on")
  func refused() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    let values = (0..<31).map { DocumentValue.integer(Int64($0)) }
    let target = DocumentTarget.unchecked(
      .collection(try CollectionPath("rooms")), .field(field("n"), .in, .array(values)))
    listener.add(2, target)
    try listener.add(4, query("rooms"))
    await rig.waitUntilIdle()
    #expect(listener.now.rejected[2]?.code == .invalidArgument)
    #expect(listener.now.targets[4]?.isCurrent == true)
    #expect(listener.now.closed == nil)
  }

  @Test("Times of a target are cut as those of fields are, at its beginning and later")
  func fineTimes() async throws {
    let rig = try Rig()
    let fine = DocumentValue.timestamp(try Timestamp(seconds: 5, nanoseconds: 123_456_789))
    try await rig.commit(set("rooms/a", [("n", .value(fine))]))
    let listener = Listener(rig.link().transport.service)
    listener.add(
      2,
      .unchecked(.collection(try CollectionPath("rooms")), .field(field("n"), .equal, fine)))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/a"])
    try await rig.commit(set("rooms/b", [("n", .value(fine))]), delete("rooms/a"))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/b"])
    try await rig.server.close()
  }

  @Test("A number that is used twice ends the stream")
  func twice() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    try listener.add(2, query("halls"))
    await rig.waitUntilIdle()
    #expect((listener.now.closed ?? nil)?.code == .invalidArgument)
  }

  @Test("A target that is removed is told nothing more, and may come again")
  func removed() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    listener.remove(2)
    await rig.waitUntilIdle()
    _ = listener.take()
    try await rig.commit(set("rooms/a", []))
    await rig.waitUntilIdle()
    #expect(listener.take() == [])
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/a"])
  }

  /// A listener that was told that there are no rooms, and whose client reads nothing.
  private func slowListener(of rig: Rig) async throws -> (DocumentLink, Listener) {
    let link = rig.link()
    let listener = Listener(link.transport.service)
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    link.hold(.toClient)
    return (link, listener)
  }

  @Test("A client that reads slowly is told one later moment, not all that it missed")
  func slow() async throws {
    let rig = try Rig()
    let (link, listener) = try await slowListener(of: rig)
    link.resetCounts()
    for n in 0..<500 {
      try await rig.commit(set("rooms/r\(n % 5)", [("n", .value(.integer(Int64(n))))]))
    }
    await rig.waitUntilIdle()
    link.release()
    await rig.waitUntilIdle()
    #expect(listener.paths(2).count == 5)
    #expect(listener.documents(2, try query("rooms")).last?.fields == ["n": 499])
    // One moment was on its way when the client stopped, and one tells the rest.
    #expect(link.counts.moments <= 2)
    #expect(link.counts.documents <= 6)
  }

  @Test("A client that reads slowly is told when a document came and went again meanwhile")
  func leftOut() async throws {
    let rig = try Rig()
    let (link, listener) = try await slowListener(of: rig)
    try await rig.commit(set("rooms/a", [("n", 1)]))
    await rig.waitUntilIdle()
    try await rig.commit(set("rooms/b", [("n", 1)]))
    let last = try await rig.commit(delete("rooms/b"))
    await rig.waitUntilIdle()
    link.release()
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/a"])
    // Who has made the room and waits to be told of it waits no longer.
    #expect(listener.now.version == last)
    try await rig.server.close()
  }

  @Test("A client that was not told for longer than the server remembers begins anew")
  func tooSlow() async throws {
    let rig = try Rig(history: DocumentHistoryLimits(changes: 20))
    let link = rig.link()
    let listener = Listener(link.transport.service)
    try await rig.commit(set("rooms/gone", []))
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    link.hold(.toClient)
    try await rig.commit(set("rooms/first", []))
    try await rig.commit(delete("rooms/gone"))
    for n in 0..<50 {
      try await rig.commit(set("rooms/r\(n % 3)", [("n", .value(.integer(Int64(n))))]))
    }
    await rig.waitUntilIdle()
    link.release()
    await rig.waitUntilIdle()
    #expect(listener.paths(2) == ["rooms/first", "rooms/r0", "rooms/r1", "rooms/r2"])
    #expect(listener.now.resets == 1)
  }

  @Test("A stream that no change concerns learns the time before the server forgets where it is")
  func nudged() async throws {
    let rig = try Rig(history: DocumentHistoryLimits(changes: 40))
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("rooms"))
    await rig.waitUntilIdle()
    for n in 0..<200 {
      try await rig.commit(set("other/o\(n)", []))
      await rig.waitUntilIdle()
    }
    let before = listener.now
    listener.close()
    let again = Listener(rig.link().transport.service, after: before)
    try again.add(2, query("rooms"), token: before.token)
    await rig.waitUntilIdle()
    #expect(again.now.resets == 0)
    #expect(again.now.targets[2]?.isCurrent == true)
  }
}

extension DocumentTarget {
  /// A target as a client could send it that checks nothing.
  static func unchecked(_ source: DocumentQuery.Source, _ filter: Filter) -> DocumentTarget {
    let plain = DocumentQuery(source, in: database).target
    return DocumentTarget(
      source: plain.source, filter: filter, orders: plain.orders, limit: nil, start: nil, end: nil)
  }
}
