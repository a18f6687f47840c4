import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// Who may do what.
@Suite struct AccessTests {
  /// Everybody reads what is public and queries it; each user reads and writes what is the user's own.
  private static let own = DocumentAccess(
    user: { $0 == "bad" ? nil : DocumentAccess.anyToken($0) },
    allows: { user, request in
      switch request {
      case .get(_, let fields):
        fields == nil || fields?["public"] == true
          || user.map { fields?["owner"] == .string($0.id) } == true
      case .list(let target):
        target.filter?.fieldFilters.contains {
          $0.field == field("public") && $0.value == true
            || $0.field == field("owner") && $0.value == .string(user?.id ?? "")
        } == true
      case .write(_, let before, let after):
        [before, after].allSatisfy { fields in
          fields == nil || user.map { fields?["owner"] == .string($0.id) } == true
        }
      }
    })

  private func filled() async throws -> Rig {
    let rig = try Rig(access: Self.own)
    try await rig.commit(
      set("notes/open", [("owner", "ada"), ("public", true)]),
      set("notes/closed", [("owner", "ada")]))
    return rig
  }

  private func code(_ body: () async throws -> Void) async -> StatusCode? {
    do {
      try await body()
      return nil
    } catch { return (error as? StatusError)?.code }
  }

  @Test("Reads that are not allowed are refused as permission-denied")
  func reads() async throws {
    let rig = try await filled()
    let service = rig.service
    let (open, closed) = (document("notes/open"), document("notes/closed"))
    let all = try query("notes")
    let mine = try all.filtered(.field(field("owner"), .equal, "ada"))
    #expect(await code { _ = try await service.lookup([open], token: nil) } == nil)
    #expect(
      await code { _ = try await service.lookup([open, closed], token: nil) } == .permissionDenied)
    #expect(await code { _ = try await service.lookup([closed], token: "ada") } == nil)
    #expect(await code { _ = try await service.lookup([closed], token: "owner") } == nil)
    #expect(await code { _ = try await service.lookup([closed], token: "bad") } == .unauthenticated)
    #expect(
      await code { _ = try await service.aggregate(all, [.count], token: "ada") }
        == .permissionDenied)
    #expect(await code { _ = try await service.aggregate(mine, [.count], token: "ada") } == nil)
    #expect(
      await code { _ = try await service.aggregate(mine, [.count], token: "bob") }
        == .permissionDenied)
  }

  @Test("Writes that are not allowed are refused, and what is there is not given away")
  func writes() async throws {
    let rig = try await filled()
    let service = rig.service
    func commit(_ token: String?, _ writes: Mutation...) async -> StatusCode? {
      await code { _ = try await service.commit(writes, token: token) }
    }
    #expect(try await commit(nil, set("notes/x", [("owner", "ada")])) == .permissionDenied)
    #expect(try await commit("bob", set("notes/x", [("owner", "ada")])) == .permissionDenied)
    #expect(try await commit("bob", delete("notes/closed")) == .permissionDenied)
    // Not already-exists: bob may not know that it is there.
    #expect(
      try await commit("bob", set("notes/closed", [("owner", "bob")], if: .exists(false)))
        == .permissionDenied)
    #expect(
      try await commit("ada", set("notes/closed", [("owner", "ada")], if: .exists(false)))
        == .alreadyExists)
    #expect(
      try await commit("bob", .verify(document("notes/closed"), if: .exists(true)))
        == .permissionDenied)
    // One of two writes is not allowed: none is made.
    #expect(
      try await commit(
        "ada", set("notes/y", [("owner", "ada")]), set("notes/z", [("owner", "bob")]))
        == .permissionDenied)
    #expect(try await rig.server.document(document("notes/y"), in: database) == nil)
    #expect(try await commit("ada", set("notes/y", [("owner", "ada")])) == nil)
    #expect(try await commit("owner", delete("notes/y")) == nil)
  }

  @Test("A listen that is not allowed is refused; the others of its stream go on")
  func listens() async throws {
    let rig = try await filled()
    let listener = Listener(rig.link().transport.service, token: "bob")
    try listener.add(2, query("notes"))
    try listener.add(4, query("notes").filtered(.field(field("public"), .equal, true)))
    listener.add(6, only("notes/closed"))
    listener.add(8, only("notes/open"))
    await rig.waitUntilIdle()
    #expect(listener.now.rejected[2]?.code == .permissionDenied)
    #expect(listener.now.rejected[6]?.code == .permissionDenied)
    #expect(listener.paths(4) == ["notes/open"])
    #expect(listener.paths(8) == ["notes/open"])
    _ = listener.take()
    // It is closed to bob now: the query says only that it left, the listen to it ends.
    try await rig.commit(set("notes/open", [("owner", "ada"), ("secret", 7)]))
    await rig.waitUntilIdle()
    #expect(listener.take().contains(.left(document("notes/open"), [4])))
    #expect(listener.now.rejected[8]?.code == .permissionDenied)
    #expect(listener.now.documents[document("notes/open")]?.fields?["secret"] == nil)
  }

  @Test("Other rules end the listens that they do not allow")
  func rules() async throws {
    let rig = try Rig()
    try await rig.commit(set("notes/open", [("public", true)]), set("notes/closed", []))
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("notes"))
    listener.add(4, only("notes/closed"))
    listener.add(6, only("notes/open"))
    await rig.waitUntilIdle()
    #expect(listener.paths(2).count == 2)
    rig.server.setAccess(Self.own)
    await rig.waitUntilIdle()
    #expect(Set(listener.now.rejected.keys) == [2, 4])
    #expect(listener.now.closed == nil)
    #expect(listener.now.targets.keys.sorted() == [6])
  }

  @Test("A token that is none of the server's does not open a stream")
  func tokens() async throws {
    let rig = try await filled()
    let listener = Listener(rig.link().transport.service, token: "bad")
    let writer = Writer(rig.link().transport.service, token: "bad")
    await rig.waitUntilIdle()
    #expect((listener.now.closed ?? nil)?.code == .unauthenticated)
    #expect(!listener.now.isOpen)
    #expect((writer.now.closed ?? nil)?.code == .unauthenticated)
  }

  @Test("An expired token ends its streams, and nobody else's")
  func expired() async throws {
    let end = try Timestamp(seconds: zero + 60)
    let access = DocumentAccess(user: { DocumentUser($0, expires: $0 == "brief" ? end : nil) })
    let rig = try Rig(access: access)
    let listener = Listener(rig.link().transport.service, token: "brief")
    try listener.add(2, query("notes"))
    let writer = Writer(rig.link().transport.service, token: "brief")
    writer.greet()
    let other = Listener(rig.link().transport.service, token: "long")
    let nobody = Listener(rig.link().transport.service)
    await rig.waitUntilIdle()
    rig.clock.advance(61)
    rig.server.tick()
    await rig.waitUntilIdle()
    #expect((listener.now.closed ?? nil)?.code == .unauthenticated)
    #expect((writer.now.closed ?? nil)?.code == .unauthenticated)
    #expect(other.now.closed == nil)
    #expect(await code { _ = try await rig.service.commit([], token: "brief") } == .unauthenticated)
    rig.server.expireTokens()
    await rig.waitUntilIdle()
    #expect((other.now.closed ?? nil)?.code == .unauthenticated)
    #expect(nobody.now.closed == nil)
  }

  @Test("The server's end closes all streams as unavailable")
  func end() async throws {
    let rig = try Rig()
    let listener = Listener(rig.link().transport.service)
    let writer = Writer(rig.link().transport.service)
    await rig.waitUntilIdle()
    try await rig.server.close()
    while rig.pump.step() {}
    #expect((listener.now.closed ?? nil)?.code == .unavailable)
    #expect((writer.now.closed ?? nil)?.code == .unavailable)
  }
}
