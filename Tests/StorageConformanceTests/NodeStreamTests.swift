import ConiferKeyValue
import ConiferStorage
import Testing

@testable import StorageConformance

/// What streams rooms of nodes through a store tells one that does wrong.
@Suite("A stream of rooms tells a backend that does wrong")
struct NodeStreamTests {
  /// Runs a stream, and tells what a store in memory holds after it.
  private static func held(_ factory: BackendFactory) async throws -> [Int] {
    let stream = try #require(NodeStream(factory))
    let backend = try factory.openForWorkload("")
    do {
      try await stream.run(on: backend, after: stream.nothing, 15, isDurable: false)
      let bounds = CrashBounds(acknowledged: 15, issued: [15])
      let held = try stream.held(by: backend, bounds)
      try await backend.close()
      return held
    } catch {
      try? await backend.close()
      throw error
    }
  }

  @Test("A right one holds the stream, and trains a dictionary")
  func right() async throws {
    let plain = try await Self.held(Tested.memory(.none))
    #expect(plain == [15])
    let record = CheckRecord()
    let packed = try await CheckRecord.$current.withValue(record) {
      try await Self.held(Tested.memory(.standard))
    }
    #expect(packed == [15])
    #expect(record.counts[NodeStream.withDictionary] != nil)
  }

  @Test(
    "One that evicts wrongly is told",
    arguments: [(FlawedEviction.Defect.evictsPins, Anomaly.evictedPin)])
  func flawed(_ defect: FlawedEviction.Defect, _ anomaly: Anomaly) async throws {
    let factory = FlawedEviction.factory(defect)
    let failure = await #expect(throws: ConformanceFailure.self) {
      _ = try await Self.held(factory)
    }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
  }

  #if os(Linux)
    @Test("One that acknowledges what a failing disk refused is told")
    func swallows() async throws {
      let name = "an eviction, a dictionary or an index that meets a failing disk costs nothing"
      for flaw in [FlawedOnDisk.Flaw.swallowsErrors, nil] {
        let factory = FlawedOnDisk.factory(flaw)
        let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
        let result = await check.result(factory)
        #expect((result.outcome == .failed) == (flaw != nil), "\(result)")
      }
    }
  #endif
}
