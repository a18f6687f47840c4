import ConiferDocument
import ConiferDocumentSync
import ConiferFirestore
import Logging
import TestSupport
import Testing

/// The log names the index that a query lacks.
@Suite struct IndexHintTests {
  private let notes = Gathered<String>()

  private func world() throws -> EngineWorld {
    try EngineWorld { [notes] in
      $0.transport = nil
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
  }

  private var hints: [String] { notes.all.filter { $0.contains("index") } }

  /// Loads so many rooms.
  private func load(_ count: Int, into world: EngineWorld) async {
    world.engine.loadBundle(
      `The engine of documents and bundles`.many(count, 2, "1970-01-01T00:00:03Z")
    ) { _ in }
    await world.settle()
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
}
