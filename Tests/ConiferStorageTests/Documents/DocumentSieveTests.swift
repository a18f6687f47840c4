import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferStorage

/// What is told of documents from the bytes of the fields that a query compares.
@Suite struct DocumentSieveTests {
  private typealias Samples = DocumentSamples

  /// A document of every kind of value in front of the fields that are compared and behind them.
  private func wide(_ document: Document, _ random: inout Seeded) throws -> Document {
    guard var fields = document.fields else { return document }
    let vector = DocumentValue.vector([1, .infinity])
    let place = DocumentValue.geoPoint(try GeoPoint(latitude: -3.5, longitude: 170))
    let deep: DocumentValue = [
      "y": [["z": [nil, true, vector]], place], "": .bytes([0, 1, 255]),
    ]
    for name in ["", "Z", "aa", "k", "lisu", "z"] where random.chance(50) {
      fields[name] = random.pick([Samples.scalar(&random), vector, place, deep])
    }
    return Document(document.path, .found(fields), version: .zero, readTime: .zero)
  }

  @Test(arguments: Seeded.seeds(30))
  func `A sieve passes what the query matches, whatever else is in the documents`(
    seed: UInt64
  ) throws {
    var random = Seeded(seed)
    let documents = try Samples.documents(&random).filter { $0.state != .unseen }
      .map { try wide($0, &random) }
    for _ in 0..<60 {
      let target = Samples.query(&random, over: documents).target
      let sieve = DocumentSieve(target)
      for document in documents {
        // It is asked about documents of its source.
        switch target.source {
        case .collection(let path): guard path.contains(document.path) else { continue }
        case .group(let id): guard document.path.collection.id == id else { continue }
        case .document(let path): guard path == document.path else { continue }
        }
        let passes = try DocumentRecord.encode(document).withUnsafeBytes { bytes in
          sieve.passes(bytes) { document.path }
        }
        #expect(passes == target.matches(document), "\(target.canonical) of \(document)")
      }
    }
  }

  @Test func `A document that fails a condition is told without a look at what is behind it`()
    throws
  {
    let path = Samples.path("c/d")
    let query = try DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
      .filtered(.field(Samples.field("b"), .equal, 1))
      .filtered(.field(Samples.field("d"), .greaterThan, 5))
    let sieve = DocumentSieve(query.target)
    func passes(_ fields: MapValue, cutBy count: Int = 0) throws -> Bool? {
      let bytes = try DocumentRecord.encode(Document(path, .found(fields)))
      var cut = ByteWriter()
      cut.byte(bytes[0])
      cut.sized(Bytes(bytes[bodyStart(bytes)...].dropLast(count)))
      return cut.bytes.withUnsafeBytes { sieve.passes($0) { path } }
    }
    let rest = DocumentValue.string("text")
    #expect(try passes(["a": rest, "b": 1, "c": rest, "d": 6, "e": rest]) == true)
    #expect(try passes(["a": rest, "b": 1, "d": 6, "e": rest], cutBy: 3) == nil)
    for fields in [
      ["a": rest, "b": 2, "d": 6, "e": rest], ["a": rest, "b": 1.0, "c": rest, "d": 5, "e": rest],
      ["a": rest, "c": rest, "d": 6, "e": rest], ["b": 1, "d": "text", "e": rest],
      ["b": 1, "c": rest, "e": rest],
    ] as [MapValue] {
      #expect(try passes(fields) == false)
      #expect(try passes(fields, cutBy: 3) == false)
    }
    #expect(try passes(["a": rest, "b": 1, "c": rest]) == false)
  }

  @Test func `Fields that are chosen are as they are in the whole document`() throws {
    var random = Seeded(3)
    let whole = try wide(
      Document(
        Samples.path("c/d"), .found(["a": "text", "list": [1, ["x": 2]], "m": ["x": 2.5]])),
      &random)
    let selection = FieldSelection([
      Samples.field("m.x"), Samples.field("list"), Samples.field("none"),
    ])
    let part = try DocumentRecord.encode(whole).withUnsafeBytes {
      DocumentRecord.decode(whole.path, $0, selection)
    }
    #expect(part?.fields == ["list": [1, ["x": 2]], "m": ["x": 2.5]])
  }

  @Test func `Bytes that hold no document are told, however they are cut`() throws {
    var random = Seeded(4)
    let path = Samples.path("c/d")
    let query = try DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
      .filtered(.field(Samples.field("m.x"), .greaterThan, 1))
    let sieve = DocumentSieve(query.target)
    for _ in 0..<50 {
      let document = try wide(Document(path, .found(["m": ["x": 2], "a": "b"])), &random)
      let bytes = try DocumentRecord.encode(document)
      // Behind the tag and the length of the body, which would tell it too.
      for end in 4..<bytes.count {
        var cut = ByteWriter()
        cut.byte(bytes[0])
        cut.sized(Bytes(bytes[bodyStart(bytes)..<max(bodyStart(bytes), end)]))
        #expect(cut.bytes.withUnsafeBytes { sieve.passes($0) { path } } == nil)
      }
    }
  }

  private func bodyStart(_ bytes: Bytes) -> Int { bytes[1] < 0x80 ? 2 : 3 }
}
