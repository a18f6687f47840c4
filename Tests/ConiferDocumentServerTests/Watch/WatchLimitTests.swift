import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What listeners may ask for.
@Suite struct WatchLimitTests {
  @Test("A limit may be as large as a number can be", arguments: TestStore.allCases)
  func largest(_ store: TestStore) async throws {
    let rig = try Rig(store)
    let all = try query("rooms").ordered(by: field("n"))
    let queries = [try all.limited(to: .max), try all.limited(toLast: .max)]
    for n in 0..<4 { try await rig.commit(set("rooms/\(n)", [("n", .value(.integer(Int64(n))))])) }
    let listener = Listener(rig.link().transport.service)
    for (id, query) in zip([2 as TargetID, 4], queries) { listener.add(id, query) }
    await rig.waitUntilIdle()
    #expect(listener.paths(2).count == 4)
    listener.close()
    await rig.waitUntilIdle()
    try await rig.commit(set("rooms/1", [("n", 7)]), set("rooms/new", [("n", 2)]))
    let earlier = listener.now
    let again = Listener(rig.link().transport.service, after: earlier)
    for (id, query) in zip([2 as TargetID, 4], queries) {
      again.add(id, query, token: earlier.token)
    }
    await rig.waitUntilIdle()
    #expect(again.now.resets == 0)
    for (id, query) in zip([2 as TargetID, 4], queries) {
      let wanted = try await rig.server.documents(query).map(\.path)
      #expect(again.paths(id) == wanted.sorted().map(\.description))
      #expect(wanted.count == 5)
    }
    try await rig.server.close()
  }

  @Test("A stream that asks and does not read ends")
  func unread() async throws {
    let rig = try Rig()
    let link = rig.link()
    let listener = Listener(link.transport.service)
    await rig.waitUntilIdle()
    link.hold(.toClient)
    listener.add(2, try query("rooms"))
    await rig.waitUntilIdle()
    for _ in 0..<1001 {
      listener.add(4, try query("halls"))
      listener.remove(4)
    }
    await rig.waitUntilIdle()
    link.release()
    await rig.waitUntilIdle()
    #expect((listener.now.closed ?? nil)?.code == .resourceExhausted)
    // As many as a stream may have come and go at once.
    let other = Listener(link.transport.service)
    for id in 1...1000 { other.add(TargetID(id), try query("rooms")) }
    await rig.waitUntilIdle()
    link.hold(.toClient)
    try await rig.commit(set("rooms/1", []))
    await rig.waitUntilIdle()
    for id in 1...1000 { other.remove(TargetID(id)) }
    for id in 1...1000 { other.add(TargetID(id), try query("rooms")) }
    await rig.waitUntilIdle()
    link.release()
    await rig.waitUntilIdle()
    #expect(other.now.closed == nil)
    #expect(other.paths(1000) == ["rooms/1"])
  }
}
