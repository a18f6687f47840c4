import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferStorage

@Suite struct DocumentIndexRowsTests {
  private typealias Samples = DocumentSamples

  private func rows(
    _ fields: [(String, DocumentIndex.Field.Kind)], scope: DocumentIndex.Scope = .collection
  ) throws -> DocumentIndexRows {
    let fields = fields.map { DocumentIndex.Field(Samples.field($0.0), $0.1) }
    return DocumentIndexRows(try DocumentIndex("c", fields, scope: scope), prefix: [0, 0, 0, 7])
  }

  private func document(_ path: String, _ fields: MapValue) -> Document {
    Document(Samples.path(path), .found(fields))
  }

  @Test func `Only documents that were found and have all fields have rows`() throws {
    let rows = try rows([("a", .ascending), ("m.x", .descending)])
    #expect(rows.rows(document("c/d", ["a": nil, "m": ["x": 1]])).count == 1)
    #expect(rows.rows(document("e/d/c/d", ["a": nil, "m": ["x": 1]])).count == 1)
    #expect(rows.rows(document("c/d", ["a": 1])).isEmpty)
    #expect(rows.rows(document("c/d", ["m": ["x": 1]])).isEmpty)
    #expect(rows.rows(document("e/d", ["a": 1, "m": ["x": 1]])).isEmpty)
    #expect(rows.rows(document("c/d/e/d", ["a": 1, "m": ["x": 1]])).isEmpty)
    for state in [Document.State.missing, .unknown, .unseen] {
      #expect(rows.rows(Document(Samples.path("c/d"), state)).isEmpty)
    }
  }

  @Test func `Each distinct element of an array has a row`() throws {
    let rows = try rows([("list", .contains), ("a", .ascending)])
    #expect(rows.rows(document("c/d", ["list": [1, "x", 1.0, 2, "x"], "a": 1])).count == 3)
    #expect(rows.rows(document("c/d", ["list": [], "a": 1])).isEmpty)
    #expect(rows.rows(document("c/d", ["list": "x", "a": 1])).isEmpty)
    #expect(rows.rows(document("c/d", ["list": ["x"]])).isEmpty)
    // Elements that begin alike share a row.
    let long = Samples.long
    let list: DocumentValue = [.string(long + "a"), .string(long + "b")]
    #expect(rows.rows(document("c/d", ["list": list, "a": 1])).count == 1)
  }

  @Test func `Collections with long paths are not indexed one by one`() throws {
    let path = "c/" + String(repeating: "i", count: DocumentIndexRows.longestCollection) + "/c/d"
    let document = document(path, ["a": 1])
    #expect(try rows([("a", .ascending)]).rows(document).isEmpty)
    #expect(try rows([("a", .ascending)], scope: .group).rows(document).count == 1)
  }

  @Test(arguments: Seeded.seeds(60))
  func `Rows are in the order of collections, values and names, and tell their documents`(
    seed: UInt64
  ) throws {
    var random = Seeded(seed)
    let index = Samples.index(&random)
    let rows = DocumentIndexRows(index, prefix: [0, 0, 0, 1, 0, 0, 0, 9])
    let orders = index.fields.compactMap { field in
      field.kind.direction.map { DocumentQuery.Order(field.path, $0) }
    }
    let documents = Samples.documents(&random)
    var stored: [(row: IndexRow, document: Document)] = []
    for document in documents {
      for row in rows.rows(document) { stored.append((row, document)) }
    }
    stored.sort { $0.row.key == $1.row.key ? false : bytesPrecede($0.row.key, $1.row.key) }
    for (row, document) in stored {
      // With the byte of its space.
      #expect(row.key.count < 511)
      let entries = try #require(rows.entries(row.key, row.segment.map { [$0] } ?? []))
      #expect(entries.map(\.path) == [document.path], "seed \(seed)")
    }
    for ((one, a), (other, b)) in zip(stored, stored.dropFirst()) {
      let first = try #require(rows.entries(one.key, one.segment.map { [$0] } ?? [])?.first)
      let next = try #require(rows.entries(other.key, other.segment.map { [$0] } ?? [])?.first)
      if index.scope == .collection, a.path.collection != b.path.collection {
        #expect(a.path.collection < b.path.collection, "seed \(seed)")
        continue
      }
      guard !index.fields.contains(where: { $0.kind == .contains }) else { continue }
      let order = orders.lazy.map { order -> Int in
        guard let x = a.fields?[order.field], let y = b.fields?[order.field] else { return 0 }
        return DocumentValue.compare(x, y) * (order.direction == .ascending ? 1 : -1)
      }.first { $0 != 0 }
      let isTied = one.key[..<first.valuesEnd] == other.key[..<next.valuesEnd]
      if isTied, first.isCut {
        #expect(next.isCut, "seed \(seed)")
      } else if let order {
        #expect(order < 0 && !isTied, "seed \(seed): \(index), \(a), \(b)")
      } else if one.key != other.key {
        let names = DocumentPath.compare(a.path, b.path)
        #expect(index.nameDirection == .ascending ? names < 0 : names > 0, "seed \(seed)")
      } else {
        #expect(one.segment != nil && one.segment != other.segment, "seed \(seed)")
      }
    }
  }
}
