import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Logging
import Synchronization
import TestSupport
import Testing

/// The authority of a database without a server is opened, suspended, resumed and closed with the client's storage.
@Suite struct LocalAuthorityTests {
  /// Notes what is asked of it, and fails where a test says.
  private final class Authority: LocalAuthority {
    let calls = Gathered<String>()
    private let failing = Mutex<Set<String>>([])

    func fail(_ calls: Set<String>) { failing.withLock { $0 = calls } }

    private func note(_ call: String) throws(StoreError) {
      calls.add(call)
      let fails = failing.withLock { $0.contains(call) }
      if fails { throw StoreError(.busy, "The test says so.") }
    }

    nonisolated(nonsending) func open() async throws(StoreError) { try note("open") }
    nonisolated(nonsending) func suspend() async throws(StoreError) { try note("suspend") }
    nonisolated(nonsending) func resume() async throws(StoreError) { try note("resume") }
    nonisolated(nonsending) func close() async throws(StoreError) { try note("close") }
  }

  private let authority = Authority()
  private let storage: EngineStorage

  init() {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    storage = EngineStorage(logger, authority: authority)
  }

  private func fails(_ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch { return true }
  }

  private func open() async throws {
    let backend = try await storage.openBackend(.memory)
    storage.open(backend, Lane(tree: try await backend.tree(named: "main"), identity: ""))
  }

  @Test func `It is opened first, and closed when the storage cannot be opened`() async throws {
    let broken = StorageConfiguration(name: "broken", location: nil, options: StorageOptions()) {
      (_) throws(StoreError) in throw StoreError(.io, "The test says so.")
    }
    #expect(await fails { _ = try await storage.openBackend(broken) })
    #expect(authority.calls.take() == ["open", "close"])
    authority.fail(["open"])
    #expect(await fails { _ = try await storage.openBackend(.memory) })
    #expect(authority.calls.take() == ["open"])
  }

  @Test func `It is suspended with the storage, and taken again when that fails`() async throws {
    try await open()
    authority.fail(["suspend"])
    #expect(await fails { try await storage.suspend() })
    #expect(authority.calls.take() == ["open", "suspend", "suspend", "resume"])
    #expect(!storage.isReleased)
    authority.fail([])
    try await storage.suspend()
    authority.fail(["resume"])
    #expect(await fails { try await storage.resume {} })
    #expect(storage.isReleased)
    authority.fail([])
    try await storage.resume {}
    #expect(!storage.isReleased)
    #expect(authority.calls.take() == ["suspend", "resume", "resume"])
  }

  @Test func `It is closed with the storage`() async throws {
    try await open()
    let backend = try #require(storage.close())
    await storage.closeBackend(backend)
    #expect(authority.calls.take() == ["open", "close"])
  }
}
