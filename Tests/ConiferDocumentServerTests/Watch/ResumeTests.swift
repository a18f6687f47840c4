import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// How a listen goes on after its stream broke.
@Suite struct ResumeTests {
  /// A stream that was told some rooms, and broke; then rooms changed, left, went and came.
  private func broken(_ rig: Rig, _ query: DocumentQuery) async throws -> Listener.State {
    for n in 1...6 { try await rig.commit(set("rooms/r\(n)", [("n", .value(.integer(Int64(n))))])) }
    let listener = Listener(rig.link().transport.service)
    listener.add(2, query)
    await rig.waitUntilIdle()
    listener.close()
    await rig.waitUntilIdle()
    #expect(listener.now.closed != nil)
    try await rig.commit(set("rooms/r1", [("n", 50)]))
    try await rig.commit(set("rooms/r2", [("n", 2.5)]))
    try await rig.commit(delete("rooms/r3"))
    try await rig.commit(set("rooms/new", [("n", 0)]))
    try await rig.commit(set("rooms/brief", [("n", 0)]))
    try await rig.commit(delete("rooms/brief"))
    return listener.now
  }

  private func queries() throws -> [DocumentQuery] {
    let n = field("n")
    let rooms = try query("rooms")
    return [
      rooms, group("rooms"), only("rooms/r2"), only("rooms/r3"), only("rooms/new"),
      try rooms.filtered(.field(n, .lessThan, 10)),
      try rooms.ordered(by: n).limited(to: 3), try rooms.ordered(by: n, .descending).limited(to: 2),
      try rooms.ordered(by: n).limited(toLast: 2),
    ]
  }

  @Test(
    "Only what changed is told, deletions and documents that left too",
    arguments: TestStore.allCases)
  func changed(_ store: TestStore) async throws {
    for (place, query) in try queries().enumerated() {
      for usesToken in [true, false] {
        let rig = try Rig(store)
        let earlier = try await broken(rig, query)
        let before = earlier.targets[2]?.paths ?? []
        let again = Listener(rig.link().transport.service, after: earlier)
        again.add(
          2, query, token: usesToken ? earlier.token : [],
          version: usesToken ? .zero : earlier.version, expectedCount: before.count)
        await rig.waitUntilIdle()
        let state = again.now
        let wanted = try await rig.server.documents(query).map(\.path)
        #expect(state.documents(2, query).map(\.path) == query.evaluateOrder(wanted), "\(place)")
        #expect(state.resets == 0)
        #expect(state.targets[2]?.filter == nil)
        // Rooms 4, 5 and 6 did not change: those of them that stay are not told.
        let told = state.said.compactMap { change -> DocumentPath? in
          guard case .document(let document, _, _) = change else { return nil }
          return document.path
        }
        for quiet in ["rooms/r4", "rooms/r5", "rooms/r6"].map({ document($0) })
        where before.contains(quiet) { #expect(!told.contains(quiet), "\(place)") }
        #expect(!told.contains(document("rooms/brief")))
        try await rig.server.close()
      }
    }
  }

  @Test("A listen goes on after the server was restarted", arguments: TestStore.onDisk)
  func restarted(_ store: TestStore) async throws {
    for query in try queries() {
      var rig = try Rig(store)
      let earlier = try await broken(rig, query)
      rig = try await rig.restarted(store)
      let again = Listener(rig.link().transport.service, after: earlier)
      again.add(2, query, token: earlier.token, expectedCount: earlier.targets[2]?.paths.count)
      await rig.waitUntilIdle()
      let wanted = try await rig.server.documents(query).map(\.path)
      #expect(again.now.documents(2, query).map(\.path) == query.evaluateOrder(wanted))
      #expect(again.now.resets == 0)
      #expect(again.now.targets[2]?.filter == nil)
      try await rig.server.close()
    }
  }

  @Test("A token that is too old, of another database or none at all begins anew")
  func unknown() async throws {
    let rig = try Rig(history: DocumentHistoryLimits(changes: 3))
    let rooms = try query("rooms")
    let earlier = try await broken(rig, rooms)
    var tokens = [earlier.token, [1, 2, 3], Array(repeating: 7, count: 16)]
    tokens.append(Array(earlier.token[..<8]) + Array(repeating: 0x7f, count: 8))
    for token in tokens {
      let again = Listener(rig.link().transport.service, after: earlier)
      again.add(2, rooms, token: token, expectedCount: 6)
      await rig.waitUntilIdle()
      #expect(again.now.resets == 1)
      #expect(
        again.paths(2) == ["rooms/new", "rooms/r1", "rooms/r2", "rooms/r4", "rooms/r5", "rooms/r6"])
    }
  }

  @Test("A client that has more documents than the server is told their number and names")
  func filter() async throws {
    let rig = try Rig()
    let rooms = try query("rooms")
    var earlier = try await broken(rig, rooms)
    let extra = (0..<20).map { document("rooms/extra\($0)") }
    earlier.targets[2]?.paths.formUnion(extra)
    let again = Listener(rig.link().transport.service, after: earlier)
    again.add(2, rooms, token: earlier.token, expectedCount: 26)
    await rig.waitUntilIdle()
    #expect(again.now.targets[2]?.filter?.count == 6)
    #expect(again.now.targets[2]?.filter?.isMismatch == true)
    let kept = again.now.targets[2]?.paths ?? []
    #expect(kept.isSuperset(of: try await rig.server.documents(rooms).map(\.path)))
    // One of a hundred may seem to be there; that many are not.
    #expect(kept.count <= 6 + 3)
    // The filter comes before the target is current.
    let said = again.take()
    let place = said.firstIndex { if case .filter = $0 { true } else { false } }
    let current = said.firstIndex { if case .targets(.current, _, _) = $0 { true } else { false } }
    #expect(place ?? 0 < current ?? 0)
  }

  @Test("A filter of nothing takes all away")
  func emptyFilter() async throws {
    let rig = try Rig()
    let rooms = try query("rooms")
    let listener = Listener(rig.link().transport.service)
    listener.add(2, rooms)
    await rig.waitUntilIdle()
    var earlier = listener.now
    earlier.targets[2]?.paths = [document("rooms/never")]
    let again = Listener(rig.link().transport.service, after: earlier)
    again.add(2, rooms, token: earlier.token, expectedCount: 1)
    await rig.waitUntilIdle()
    #expect(again.paths(2) == [])
  }
}

extension DocumentQuery {
  /// Paths in the order of the target, of those in the order of the query.
  func evaluateOrder(_ paths: [DocumentPath]) -> [DocumentPath] {
    limit?.side == .last ? paths.reversed() : paths
  }
}
