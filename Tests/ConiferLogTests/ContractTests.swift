import ConiferKeyValue
import ConiferLog
import StorageConformance
import Testing

@Suite("The log keeps the contract of an ordered store")
struct ContractTests {
  static let declared = StoreTraits(
    longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
    isPersistent: true)

  static let usual = StoreFactory(
    name: "Log", declared: declared, ownerFile: "owner",
    tests: "ConiferLogTests.ContractTests"
  ) { (path) throws(StoreError) in try LogStore(at: path) }

  /// Sizes so small that segments roll, folds and compaction happen all the time.
  static let tiny = StoreFactory(
    name: "Log of small segments", declared: declared, ownerFile: "owner",
    tests: "ConiferLogTests.ContractTests"
  ) { (path) throws(StoreError) in
    var options = LogOptions.tiny
    // A full disk can be drained with room for a few segments.
    options.reserve = 64 << 10
    return try LogStore(at: path, options)
  }

  @Test("The kit passes", arguments: StoreCheck.all(for: usual))
  func contract(_ check: StoreCheck) async throws { try await check.run(Self.usual) }

  @Test("The kit passes with small segments", arguments: StoreCheck.all(for: tiny))
  func small(_ check: StoreCheck) async throws { try await check.run(Self.tiny) }
}

extension LogOptions {
  static var tiny: LogOptions {
    var options = LogOptions()
    options.segment = 16 << 10
    options.tail = 2 << 10
    options.journal = 12 << 10
    options.cache = 8 << 10
    options.slack = 16 << 10
    options.reserve = 4 << 10
    options.filesKept = 2
    return options
  }
}
