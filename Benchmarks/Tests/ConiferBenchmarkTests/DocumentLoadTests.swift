#if GRPC
  import ConiferStorage
  import Foundation
  import Testing

  @testable import ConiferBenchmark

  @Suite struct DocumentLoadTests {
    /// The built benchmark, beside the test program.
    private static let program: String? = {
      let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      let path = folder.appendingPathComponent("conifer-bench").path
      return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    @Test(.enabled(if: program != nil, "The built benchmark is not beside the tests."))
    func `Documents over gRPC have every figure, within a process and over sockets`() async throws {
      let program = try #require(Self.program)
      let directory = FileManager.default.temporaryDirectory.path
      var record = DocumentLoadRecord(.tiny, in: directory)
      for way in DocumentLoad.Way.allCases {
        for exercise in DocumentLoad.Exercise.allCases {
          let figures = try await DocumentLoad(way, exercise, .tiny, in: directory).run(
            { _ in .memory() }, program: program)
          #expect(figures.allSatisfy { $0.value >= 0 && $0.processor ?? 0 >= 0 })
          record.add(figures, way)
        }
      }
      #expect(record.missing == [])
      #expect(DocumentLoadRecord(.tiny, in: directory).missing.count == 12)
      #expect(!record.markdown.contains("nan"))
    }
  }
#endif
