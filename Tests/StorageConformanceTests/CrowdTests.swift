import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import StorageConformance
import Synchronization
import TestSupport
import Testing

/// With many threads at every call, closing too, a store is still called by one at a time.
@Suite struct CrowdTests {
  /// What the guards of the stores of a test saw.
  private final class Guards: Sendable {
    private let broken = Mutex<[@Sendable () -> [String]]>([])

    func factory<Store: OrderedStore>(
      of plain: BackendFactory, _ make: @escaping @Sendable (String) throws(StoreError) -> Store
    ) -> BackendFactory {
      BackendFactory(
        name: "guarded \(plain.name)", declared: plain.declared, options: plain.options,
        evicts: true, tests: "CrowdTests"
      ) { (directory, options) throws(StoreError) in
        let store = GuardedStore(try make(directory))
        self.broken.withLock { $0.append { store.broken } }
        return try PackedBackend.open(store, name: plain.name, options: options)
      }
    }

    var all: [String] { broken.withLock { $0.flatMap { $0() } } }
  }

  enum Kind: CaseIterable { case memory, lmdb, sqlite, log, smallLog }

  @Test(arguments: Kind.allCases)
  func `No two threads call a store at once, whatever is asked and whenever it is closed`(
    _ kind: Kind
  ) async throws {
    let guards = Guards()
    let factory: BackendFactory
    switch kind {
    case .memory:
      factory = guards.factory(of: Tested.memory(.standard)) { _ in MemoryStore() }
    case .lmdb:
      factory = guards.factory(of: Tested.lmdb(.standard)) { (path) throws(StoreError) in
        try LMDBStore(at: path)
      }
    case .sqlite:
      factory = guards.factory(of: Tested.sqlite(.standard)) { (path) throws(StoreError) in
        try SQLiteStore(at: path)
      }
    case .log:
      factory = guards.factory(of: Tested.log(.standard)) { (path) throws(StoreError) in
        try LogStore(at: path)
      }
    case .smallLog:
      var options = LogOptions()
      (options.segment, options.tail, options.journal) = (64 << 10, 4 << 10, 32 << 10)
      factory = guards.factory(of: Tested.log(.none)) { [options] (path) throws(StoreError) in
        try LogStore(at: path, options)
      }
    }
    let check = try #require(
      BackendCheck.all(for: factory).first { $0.name.hasPrefix("many threads") })
    try await check.run(factory)
    #expect(guards.all == [])
  }
}
