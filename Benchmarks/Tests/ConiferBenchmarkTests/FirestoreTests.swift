import ConiferLog
import ConiferStorage
import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct FirestoreTests {
  @Test func `The client of documents has every figure on a backend of files and in memory`()
    async throws
  {
    let record = try await FirestoreComparison(
      [
        ClientComparison.Backend("log") { .log(at: $0, options: $1) },
        ClientComparison.Backend("memory") { _, options in .memory(options) },
      ], in: FileManager.default.temporaryDirectory.path, plan: .tiny
    ).run()
    for (backend, missing) in [("log", []), ("memory", [FirestoreWork.open])] {
      let works = FirestoreWork.allCases.filter { record.figure($0, backend) != nil }
      #expect(Set(works) == Set(FirestoreWork.measurable).subtracting(missing))
      let unmeasured = FirestoreWork.allCases.count - FirestoreWork.measurable.count
      #expect(record.bars.count { $0.backend == backend } == 12 - missing.count - unmeasured)
      for work in works {
        let figure = try #require(record.figure(work, backend))
        #expect(
          !figure.rounds.isEmpty && figure.rounds.allSatisfy { $0 >= 0 }, "\(work) of \(backend)")
      }
    }
    #expect(record.bars.allSatisfy { $0.value.isFinite })
    #expect(record.missing == [])
  }
}
