import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// A later write to a document goes before the server has sent back an earlier one, which it has accepted.
@Suite struct `The engine of documents and a later write that goes` {
  enum End: String, CaseIterable, Sendable { case discarded, refused, anotherUser }

  @Test(arguments: EngineStore.allCases, End.allCases)
  func `shows what the server has accepted`(store: EngineStore, end: End) async throws {
    let world = try EngineWorld(store, usesTokens: true)
    let signIn = try #require(world.signIn)
    signIn.set(.user("ann"))
    world.engine.tokenDidChange()
    await world.listen(1, try world.query("rooms"))
    try world.server.tell(2, [("rooms/a", 0)], at: 500)
    try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    try world.server.accept(at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "rooms/a: done")
    if end != .refused { world.engine.setNetwork(false) { _ in } }
    let later = try world.set("rooms/a", 2)
    await world.waitUntilIdle()
    let isOffline = end == .refused ? "" : " cached"
    #expect(world.told.take().last == "1: a2\(isOffline) pending")
    switch end {
    case .discarded: try await world.engine.discard(#require(await later.id))
    case .refused: world.server.refuse(.permissionDenied)
    case .anotherUser:
      signIn.set(.user("bob"))
      world.engine.tokenDidChange()
    }
    await world.waitUntilIdle()
    let told = world.told.take().last { $0.hasPrefix("1:") }
    #expect(told == (end == .anotherUser ? "1: a1 cached" : "1: a1\(isOffline) pending"))
    world.engine.setNetwork(true) { _ in }
    await world.waitUntilIdle()
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    #expect(world.told.take().last == "1: a1")
    await world.end()
  }

  @Test(arguments: EngineStore.allCases)
  func `has nobody wait for a refused one that is sent again`(store: EngineStore) async throws {
    let world = try EngineWorld(store)
    let refused = try world.set("rooms/a", 1)
    await world.waitUntilIdle()
    world.server.refuse(.permissionDenied)
    world.engine.setNetwork(false) { _ in }
    let later = try world.set("rooms/b", 2)
    await world.waitUntilIdle()
    world.engine.waitForPendingWrites { [told = world.told] in told.add("first: \($0 == nil)") }
    await world.waitUntilIdle()
    try await world.engine.retry(#require(await refused.id))
    world.engine.waitForPendingWrites { [told = world.told] in told.add("second: \($0 == nil)") }
    await world.waitUntilIdle()
    #expect(world.told.take().filter { $0.hasSuffix("true") || $0.hasSuffix("false") } == [])
    try await world.engine.discard(#require(await later.id))
    await world.waitUntilIdle()
    let told = world.told.take()
    #expect(told.contains("first: true") && !told.contains("second: true"), "\(told)")
    try await world.engine.discard(#require(await refused.id))
    await world.waitUntilIdle()
    #expect(world.told.take().contains("second: true"))
    await world.end()
  }
}
