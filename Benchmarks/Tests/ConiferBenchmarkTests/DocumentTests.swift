import CPeers
import ConiferDocument
import ConiferLog
import ConiferStorage
import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct DocumentTests {
  private var directory: String { FileManager.default.temporaryDirectory.path }

  @Test func `Posts depend on their seed alone, and each author has fifty`() throws {
    let posts = try SamplePosts(count: 500, seed: 1).documents
    #expect(try posts == SamplePosts(count: 500, seed: 1).documents)
    #expect(try posts != SamplePosts(count: 500, seed: 2).documents)
    #expect(posts.map(\.path) == posts.map(\.path).sorted())
    let own = posts.filter { $0.fields?["author"] == .string(SamplePosts.author(7)) }
    #expect(own.count == 50)
    #expect(posts.allSatisfy { $0.fields?.count == 8 })
  }

  @Test func `JSON of a post leads back to it, times in milliseconds`() throws {
    for document in try SamplePosts(count: 50, seed: 3).documents {
      var fields = try #require(document.fields)
      let json = DocumentJSON.bytes(fields)
      let read = json.withUnsafeBufferPointer { bytes in
        var reader = DocumentJSONReader(bytes)
        return reader.fields()
      }
      guard case .timestamp(let time)? = fields["created"] else { continue }
      fields["created"] = .integer(time.microseconds / 1000)
      #expect(read == fields)
      #expect(try JSONSerialization.jsonObject(with: Data(json)) is [String: Any])
    }
  }

  @Test func `Every work of documents has a figure, and all engines find the same`() async throws {
    let log = ClientComparison.Backend("log") { .log(at: $0, options: $1) }
    var plan = DocumentComparison.Plan.tiny
    plan.rounds = 2
    let record = try await DocumentComparison([log], in: directory, plan: plan).run()
    for work in DocumentWork.allCases {
      #expect(record.figure(work, "log")?.rounds.count == 2, "\(work)")
    }
    #expect(record.bars.count == 7)
    #expect(record.bars.allSatisfy { $0.candidate == "log" && $0.value > 0 })
    let raw = try #require(record.figure(.score, "raw SQLite"))
    #expect(raw.processor.count == 2)
    #expect(record.markdown.contains("fields as leaves"))
    #expect(try JSONDecoder().decode(DocumentRecord.self, from: record.json).bars.count == 7)
  }
}
