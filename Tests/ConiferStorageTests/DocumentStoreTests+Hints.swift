import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage
/// Indexes that are worth having.
extension DocumentStoreTests {
  @Test func `An index that is worth making is told once many documents were read in vain`()
    async throws
  {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let query = try DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      .filtered(.field(FieldPath(dotted: "n"), .lessThan, 10))
    func put(_ numbers: Range<Int>) async throws {
      let edits = try numbers.map {
        DocumentEdit.put(Self.document(try Self.path("c/d\($0)"), Int64($0)))
      }
      try await backend.commit([.documents(tree, edits)])
    }
    func answer() throws -> DocumentAnswer {
      try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, query) }
    }
    try await put(0..<99)
    #expect(try answer().worthwhileIndex == nil)
    try await put(99..<100)
    let index = try #require(try answer().worthwhileIndex)
    #expect(index == (try DocumentIndex("c", [.init(FieldPath(dotted: "n"))])))
    let other = try DocumentIndex("c", [.init(FieldPath(dotted: "text"))])
    try await backend.commit([
      .documents(tree, [.setIndexes([other]), .addIndexes([index, other])])
    ])
    while try await backend.tidy(.milliseconds(50)) {}
    let after = try answer()
    #expect(after.explanation.plan == .indexes([[index]]))
    #expect(after.documents.count == 10 && after.worthwhileIndex == nil)
    let known = try backend.readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(tree).map(\.index)
    }
    #expect(known == [other, index])
    // Most of what is read is found: an index would spare little.
    try await backend.commit([.documents(tree, [.setIndexes([])])])
    let wide = try DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
      .filtered(.field(FieldPath(dotted: "n"), .lessThan, 30))
    let found = try backend.readDocuments { (view) throws(StoreError) in try view.query(lane, wide)
    }
    #expect(found.explanation.hint == index && found.worthwhileIndex == nil)
  }
}
