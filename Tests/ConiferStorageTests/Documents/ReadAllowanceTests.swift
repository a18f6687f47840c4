import ConiferDocument
import Testing

@testable import ConiferStorage

/// The memory that a query claims while it reads.
@Suite struct ReadAllowanceTests {
  @Test(arguments: [2, 300])
  func `A query with a limit holds little more than what it gives, however much it reads`(
    limit: Int
  ) throws {
    let text = DocumentValue.string(String(repeating: "x", count: limit == 2 ? 1 << 20 : 1 << 12))
    let count = limit == 2 ? 100 : 10_000
    let collection = try CollectionPath("rooms")
    let documents = try (0..<count).map { n in
      Document(
        try collection.document("r\(n)"),
        .found(["n": .integer(Int64(n * 7919 % count)), "text": text]))
    }
    let query = try DocumentQuery(.collection(collection), in: DatabaseID(project: "p"))
      .ordered(by: FieldPath(["n"]), .descending).limited(to: limit)
    var (held, most) = (0, 0)
    let allowance = ReadAllowance { bytes in
      held += bytes
      most = max(most, held)
      return true
    }
    let found = try DocumentExecutor(
      query.target, MemoryStore().view(), [], StoredDocuments(documents), allowance
    ).find().documents
    #expect(
      found.map { $0.fields?["n"] } == (0..<limit).map { .integer(Int64(count - 1 - $0)) })
    #expect(held == found.reduce(0) { $0 + $1.memory })
    #expect(most < held + (6 << 20), "\(most) bytes")
  }
}
