import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What reads give.
@Suite struct ReadTests {
  private func filled(_ store: TestStore) async throws -> Rig {
    let rig = try Rig(store)
    for number in 0..<12 {
      let n = DocumentValue.integer(Int64(number))
      try await rig.commit(
        set(
          "rooms/r\(number)",
          [
            ("n", .value(n)), ("even", .value(.boolean(number % 2 == 0))),
            ("tags", .array([.value(n), "all"])),
          ]), set("rooms/r\(number)/messages/m", [("n", .value(n))]))
    }
    try await rig.commit(set("rooms/x", [("n", "text")]), set("messages/m", [("n", 3.5)]))
    return rig
  }

  @Test(
    "Documents are looked up in the order of their paths, missing ones too",
    arguments: TestStore.allCases)
  func lookup(_ store: TestStore) async throws {
    let rig = try await filled(store)
    let paths = ["rooms/r3", "rooms/none", "rooms/r1"].map { document($0) }
    let found = try await rig.service.lookup(paths, token: nil)
    #expect(found.map(\.path) == paths)
    #expect(found[0].fields?["n"] == 3)
    #expect(found[1].state == .missing)
    #expect(found[1].version > .zero)
    #expect(Set(found.map(\.readTime)).count == 1)
    #expect(found[0].version < found[0].readTime)
    try await rig.server.close()
  }

  @Test("Queries give what the model gives", arguments: TestStore.allCases)
  func queries(_ store: TestStore) async throws {
    let rig = try await filled(store)
    let rooms = try query("rooms")
    let n = field("n")
    let queries = [
      rooms, group("messages"), only("rooms/r3"), only("rooms/none"),
      try rooms.filtered(.field(n, .greaterThan, 4)).ordered(by: n, .descending),
      try rooms.filtered(.field(n, .in, [1, 2.0, "text"])),
      try rooms.filtered(.field(n, .notIn, [1, 2])).limited(to: 5),
      try rooms.filtered(.field(n, .notEqual, 4)),
      try rooms.filtered(.field(field("tags"), .arrayContains, 4)),
      try rooms.filtered(.field(field("tags"), .arrayContainsAny, [4, 7])),
      try rooms.filtered(
        .or([.field(n, .lessThan, 2), .field(field("even"), .equal, true)])),
      try rooms.ordered(by: n).limited(toLast: 3),
      try rooms.ordered(by: n).starting(after: [3]).ending(at: [8]),
      try group("messages").ordered(by: n, .descending).limited(to: 4),
      try group("messages").filtered(.field(n, .lessThanOrEqual, 4)),
    ]
    let all = try await rig.server.documents(rooms) + rig.server.documents(group("messages"))
    let model = all.map { Document($0.path, .found($0.fields), version: $0.updateTime) }
    for query in queries {
      let found = try await rig.server.documents(query).map(\.path)
      #expect(found == query.evaluate(model).map(\.path), "\(query.canonical)")
    }
    try await rig.server.close()
  }

  @Test("Aggregates count, add up and average what a query finds", arguments: TestStore.allCases)
  func aggregates(_ store: TestStore) async throws {
    let rig = try await filled(store)
    let values = try await rig.service.aggregate(
      query("rooms").filtered(.field(field("even"), .equal, true)),
      [.count, .sum(field("n")), .average(field("n"))], token: nil)
    #expect(values == [6, 30, 5.0])
    let limited = try await rig.service.aggregate(
      group("messages").ordered(by: field("n")).limited(to: 2), [.sum(field("n"))], token: nil)
    #expect(limited == [1])
    await #expect(throws: StatusError.self) {
      try await rig.service.aggregate(query("rooms"), [], token: nil)
    }
    try await rig.server.close()
  }

  @Test("Databases of one store know nothing of each other")
  func databases() async throws {
    let rig = try Rig()
    let other = DatabaseID(project: "p", database: "other")
    try await rig.commit(set("a/1", [("n", 1)]))
    try await rig.server.commit([.delete(document("a/1"))], in: other)
    #expect(try await rig.server.document(document("a/1"), in: database) != nil)
    #expect(try await rig.server.document(document("a/1"), in: other) == nil)
  }
}
