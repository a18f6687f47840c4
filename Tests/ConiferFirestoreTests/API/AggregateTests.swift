import ConiferDocument
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Aggregates")
struct AggregateTests {
  let world = Recorded()
  var rooms: CollectionReference { world.firestore.collection("rooms") }

  @Test("Numbers are had by what was asked for, and say where they come from")
  func numbers() async throws {
    let time = try ConiferDocument.Timestamp(microseconds: 7)
    world.engine.answer {
      $0.aggregate = .success(
        AggregateAnswer(
          values: [3, 4.5, nil],
          cached: QueryKnowledge(wasEverComplete: true, readTime: time)))
    }
    let query = rooms.aggregate([.count(), .sum("n"), .average(FieldPath(["m"]))])
    let here = try await query.getAggregation(source: .cache)
    #expect(here.count == 3)
    #expect(here.get(.sum("n")) as? Double == 4.5)
    #expect(here.get(.sum(FieldPath(["n"]))) as? Double == 4.5)
    #expect(here.get(.average("m")) is NSNull)
    #expect(here.isFromCache && here.wasEverComplete && here.serverTime != nil)
    #expect(here.query == query)
    #expect(world.errors.all.isEmpty)
    #expect(here.get(.average("other")) == nil && world.errors.all.count == 1)
    world.engine.answer { $0.aggregate = .success(AggregateAnswer(values: [7], cached: nil)) }
    let server = try await rooms.count.getAggregation(source: .server)
    #expect(server.count == 7 && !server.isFromCache && server.serverTime == nil)
    #expect(world.engine.calls == ["aggregate 3 cache", "aggregate 1 server"])
  }

  @Test("What is invalid is told, and so is what the engine says")
  func faults() async {
    let told = Told<AggregateQuerySnapshot>()
    rooms.aggregate([]).getAggregation(source: .server, completion: told.add)
    rooms.aggregate(Array(repeating: .count(), count: 6))
      .getAggregation(source: .cache, completion: told.add)
    rooms.aggregate([.sum("a..b")]).getAggregation(source: .server, completion: told.add)
    rooms.limit(to: 0).count.getAggregation(source: .server, completion: told.add)
    #expect(told.codes == Array(repeating: .invalidArgument, count: 4))
    world.engine.answer { $0.aggregate = .failure(FirestoreError(.unavailable, "Offline.")) }
    rooms.count.getAggregation(source: .server, completion: told.add)
    #expect(told.codes.last == .unavailable && world.engine.calls.count == 1)
    await #expect(throws: FirestoreError.self) {
      try await rooms.count.getAggregation(source: .server)
    }
  }
}
