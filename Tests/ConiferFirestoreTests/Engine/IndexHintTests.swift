import ConiferDocument
import ConiferDocumentSync
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import Logging
import TestSupport
import Testing

/// The log names the index that a query lacks.
@Suite struct IndexHintTests {
  private let notes = Gathered<String>()
  private let faults = StorageFaults()

  private func world() throws -> EngineWorld {
    try EngineWorld { [notes, faults] in
      $0.transport = nil
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
      $0.storage = $0.storage?.failing(faults)
    }
  }

  private var hints: [String] { notes.all.filter { $0.contains("index") } }

  /// Loads so many rooms.
  private func load(_ count: Int, into world: EngineWorld) async {
    world.engine.loadBundle(
      `The engine of documents and bundles`.many(count, 2, "1970-01-01T00:00:03Z")
    ) { _ in }
    await world.waitUntilIdle()
  }

  @Test func `Each index that queries lack is named once`() async throws {
    let world = try world()
    await load(150, into: world)
    let rooms = try world.query("rooms")
    let field = try ConiferDocument.FieldPath(dotted: "n")
    // Each is another query, and the first two lack the same index.
    for (number, value) in [3, 4, 5].enumerated() {
      let query = try rooms.filtered(.field(field, .equal, .integer(Int64(value))))
      await world.listen(ListenerID(number), query)
    }
    #expect(hints.count == 1)
    #expect(hints.first?.hasPrefix("info: ") == true && hints.first?.contains("n") == true)
    let other = try rooms.filtered(
      .field(try ConiferDocument.FieldPath(dotted: "other"), .equal, 1))
    await world.listen(9, other)
    #expect(hints.count == 2)
    await world.end()
  }

  @Test func `A query that looks at few documents names none`() async throws {
    let world = try world()
    await load(50, into: world)
    let query = try world.query("rooms").filtered(
      .field(try ConiferDocument.FieldPath(dotted: "n"), .equal, 3))
    await world.listen(1, query)
    #expect(hints.isEmpty)
    await world.end()
  }

  @Test func `An index that the storage refuses is tried once`() async throws {
    let world = try world()
    await load(150, into: world)
    world.engine.setCreatesIndexes(true)
    faults.fail(.documents)
    let rooms = try world.query("rooms")
    func listen(_ number: Int, _ name: String) async throws {
      let field = try ConiferDocument.FieldPath(dotted: name)
      let query = try rooms.filtered(.field(field, .equal, .integer(Int64(number))))
      await world.listen(ListenerID(number), query)
    }
    for number in 3...5 { try await listen(number, "n") }
    #expect(hints.count == 1)
    #expect(hints.first?.contains("an index is not kept") == true)
    faults.fail([])
    try await listen(6, "n")
    #expect(hints.count == 1)
    try await listen(7, "other")
    #expect(hints.count == 2)
    #expect(hints.last?.contains("an index was declared") == true)
    await world.end()
  }
}
