import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What listeners hear of a write from the app's call until the server has accepted it and sent its result, in either order.
@Suite struct `The engine of documents and the timeline of a write` {
  /// A write that sets or changes a document, which is there already or not, or has transforms whose results are known here.
  enum Kind: CaseIterable {
    case set, merge, new, increment, union

    /// Whether the server's result is another one than what was shown.
    var isChanged: Bool { self != .increment && self != .union }
  }

  private static let time = ConiferDocument.Timestamp(unchecked: 7, 0)

  private func path(_ kind: Kind) throws -> DocumentPath {
    try DocumentPath(kind == .new ? "rooms/b" : "rooms/a")
  }

  private func write(_ world: EngineWorld, _ kind: Kind) throws {
    let path = try path(kind)
    let data: [(String, WriteValue)] =
      switch kind {
      case .set, .merge, .new: [("n", .value(.integer(2))), ("at", .serverTimestamp)]
      case .increment: [("n", .increment(1))]
      case .union: [("n", .value(.integer(2))), ("of", .arrayUnion(["x"]))]
      }
    let write =
      kind == .set || kind == .new
      ? try Mutation.set(path, data, in: EngineWorld.database)
      : try Mutation.merge(path, data, in: EngineWorld.database)
    _ = world.engine.write([write]) { [told = world.told] _ in told.add("done") }
  }

  private func send(_ world: EngineWorld, _ kind: Kind, version: Int64) async throws {
    var fields: MapValue = ["n": 2]
    if kind.isChanged { fields["at"] = .timestamp(Self.time) }
    if kind == .union { fields["of"] = .array(["x"]) }
    world.server.say(
      .document(
        Document(
          try path(kind), .found(fields),
          version: try ConiferDocument.Timestamp(microseconds: version)), matching: [2]))
    world.server.say(.targets(.noChange, []), at: version)
    await world.waitUntilIdle()
  }

  private func accept(_ world: EngineWorld, _ kind: Kind, at micros: Int64) async throws {
    let result: DocumentValue =
      switch kind {
      case .set, .merge, .new: .timestamp(Self.time)
      case .increment: 2
      case .union: .null
      }
    try world.server.accept(at: micros, transforms: [result])
    await world.waitUntilIdle()
  }

  /// What is told in the end: who hears of no metadata hears of a result that is another one alone.
  private func end(_ kind: Kind) -> [String] {
    let shown = kind == .new ? "a1 b2" : "a2"
    return ["1: \(shown)"] + (kind.isChanged ? ["2: \(shown)"] : [])
  }

  /// The listener 1 hears of metadata, the listener 2 does not.
  private func begin(_ store: EngineStore, _ kind: Kind) async throws -> EngineWorld {
    let world = try EngineWorld(store)
    await world.listen(1, try world.query("rooms"))
    await world.listen(2, try world.query("rooms"), ListenOptions())
    try world.server.tell(2, [("rooms/a", 1)], at: 1000)
    await world.waitUntilIdle()
    _ = world.told.take()
    try write(world, kind)
    await world.waitUntilIdle()
    let shown = kind == .new ? "a1 b2 pending" : "a2 pending"
    #expect(world.told.take() == ["1: \(shown)", "2: \(shown)"])
    return world
  }

  @Test(arguments: EngineStore.allCases, Kind.allCases)
  func `says nothing when the server sends a result before it accepts the write`(
    store: EngineStore, kind: Kind
  ) async throws {
    let world = try await begin(store, kind)
    try await send(world, kind, version: 2000)
    #expect(world.told.take() == [])
    try await accept(world, kind, at: 2000)
    #expect(world.told.take() == ["done"] + end(kind))
    await world.end()
  }

  @Test(arguments: EngineStore.allCases, Kind.allCases)
  func `says nothing when the server accepts a write before it sends the result`(
    store: EngineStore, kind: Kind
  ) async throws {
    let world = try await begin(store, kind)
    try await accept(world, kind, at: 2000)
    #expect(world.told.take() == ["done"])
    try await send(world, kind, version: 2000)
    #expect(world.told.take() == end(kind))
    await world.end()
  }
}
