import ConiferDocument
import ConiferDocumentServer
import ConiferStorage
import ConiferWire
import Foundation
import Logging
import Synchronization
import Testing

@testable import ConiferFirestore

@Suite("Settings and the databases of the class")
struct SettingsTests {
  @Test("Settings count until the database is used, and not after")
  func frozen() {
    let world = Recorded { $0.storage = .memory }
    let settings = FirestoreSettings()
    settings.cacheSizeBytes = 2 << 20
    settings.host = "example.com"
    world.firestore.settings = settings
    #expect(world.firestore.configuration.cacheSizeBytes == 2 << 20)
    #expect(world.firestore.settings.host == "example.com")
    #expect(world.errors.all.isEmpty)
    _ = world.firestore.collection("rooms")
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    world.firestore.settings = settings
    world.firestore.useEmulator(withHost: "localhost", port: 8080)
    #expect(world.firestore.configuration.cacheSizeBytes == 2 << 20)
    // The host that nothing leads to, and the two that came too late.
    #expect(world.errors.all.count == 3)
    #expect(world.errors.all.filter { $0.contains("after the database was used") }.count == 2)
  }

  @Test("A setting that is invalid changes nothing")
  func faults() {
    let world = Recorded()
    let small = FirestoreSettings()
    small.cacheSizeBytes = 100
    world.firestore.settings = small
    let both = FirestoreSettings()
    both.isPersistenceEnabled = false
    both.cacheSettings = MemoryCacheSettings()
    world.firestore.settings = both
    world.firestore.useEmulator(withHost: "", port: 1)
    world.firestore.useEmulator(withHost: "a", port: 0)
    #expect(world.errors.all.count == 4)
    #expect(world.firestore.configuration.cacheSizeBytes == 100 << 20)
    #expect(world.firestore.configuration.host == nil)
  }

  @Test("The cache is where its settings say")
  func cache() {
    let world = Recorded { $0.storage = .memory }
    let settings = world.firestore.settings
    #expect(settings.isPersistenceEnabled && settings.cacheSizeBytes == 100 << 20)
    settings.cacheSettings = MemoryCacheSettings(
      garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 3 << 20))
    world.firestore.settings = settings
    #expect(world.firestore.configuration.cache == .memory(bytes: 3 << 20))
    let eager = FirestoreSettings()
    eager.cacheSettings = MemoryCacheSettings()
    world.firestore.settings = eager
    #expect(world.firestore.configuration.cache == .memoryWhileUsed)
    let persistent = FirestoreSettings()
    persistent.cacheSettings = PersistentCacheSettings(sizeBytes: NSNumber(value: 5 << 20))
    world.firestore.settings = persistent
    #expect(world.firestore.configuration.cache == .persistent(bytes: 5 << 20))
    #expect(world.errors.all.isEmpty)
  }

  @Test("What a configuration says of the cache can be changed by either form of the settings")
  func forms() {
    let world = Recorded {
      $0.storage = .memory
      $0.isPersistenceEnabled = false
    }
    let settings = world.firestore.settings
    #expect(!settings.isPersistenceEnabled)
    settings.isPersistenceEnabled = true
    world.firestore.settings = settings
    #expect(world.firestore.configuration.isPersistenceEnabled)
    #expect(world.errors.all.isEmpty)
  }

  @Test("The callback queue stays where the settings name none")
  func queue() {
    let (own, queue) = (DispatchQueue(label: "own"), DispatchQueue(label: "app"))
    let world = Recorded { $0.callbackQueue = .queue(own) }
    world.firestore.settings = FirestoreSettings()
    #expect(world.firestore.configuration.callbackQueue.queue === own)
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    world.firestore.settings = settings
    #expect(world.firestore.configuration.callbackQueue.queue === queue)
  }

  @Test("An emulator's host is that of the transport")
  func emulator() {
    let world = Recorded()
    world.firestore.useEmulator(withHost: "::1", port: 8080)
    #expect(world.firestore.configuration.host == "[::1]:8080")
    world.firestore.useEmulator(withHost: "localhost", port: 8080)
    #expect(world.firestore.configuration.host == "localhost:8080")
    #expect(!world.firestore.configuration.isSecure)
    #expect(
      world.firestore.settings.host == "localhost:8080" && !world.firestore.settings.isSSLEnabled)
  }

  @Test("The class gives one database for each app and id, and a new one after the end")
  func directory() async throws {
    let errors = LoggedErrors()
    let directory = FirestoreDirectory(nil) { _ in RecordingEngine() }
    var configuration = FirestoreConfiguration(projectID: "p", storage: .memory)
    configuration.logger = errors.logger
    #expect(directory.configure(configuration, app: "[DEFAULT]"))
    #expect(!directory.configure(configuration, app: "[DEFAULT]"))
    configuration.projectID = "q"
    #expect(directory.configure(configuration, app: "other"))
    let main = directory.firestore(app: "[DEFAULT]", database: nil)
    #expect(main === directory.firestore(app: "[DEFAULT]", database: "(default)"))
    #expect(main.database.project == "p")
    let second = directory.firestore(app: "[DEFAULT]", database: "second")
    #expect(second !== main && second.database.database == "second")
    #expect(second.configuration.storage == nil)
    #expect(directory.firestore(app: "other", database: nil).database.project == "q")
    #expect(errors.all.isEmpty)
    try await main.terminate()
    #expect(directory.firestore(app: "[DEFAULT]", database: nil) !== main)
    #expect(!directory.configure(configuration, app: "[DEFAULT]"))
  }

  @Test("Another database of the app never reaches the server and the storage of the first one")
  func otherDatabase() async throws {
    let world = try ServerWorld()
    let errors = LoggedErrors()
    let directory = FirestoreDirectory(nil) { FirestoreEngine($0) }
    var configuration = try world.configuration()
    configuration.logger = errors.logger
    #expect(directory.configure(configuration, app: "[DEFAULT]"))
    let main = directory.firestore(app: "[DEFAULT]", database: nil)
    #expect(errors.all.isEmpty)
    let second = directory.firestore(app: "[DEFAULT]", database: "second")
    #expect(
      errors.all.count == 1 && errors.all[0].hasPrefix("Nothing leads to the database second"))
    second.document("rooms/eros").enqueue(.set(["n": 1]))
    do {
      _ = try await second.document("rooms/eros").getDocument(source: .server)
      Issue.record("The other database reached a server.")
    } catch { #expect(error.code == .unavailable) }
    #expect(try await !main.document("rooms/eros").getDocument(source: .server).exists)
    // An app of its own has a way of its own.
    configuration.databaseID = "second"
    configuration.transport = world.server.transport(
      to: DatabaseID(project: "test", database: "second"))
    #expect(directory.configure(configuration, app: "second"))
    let reached = directory.firestore(app: "second", database: nil)
    try await reached.document("rooms/eros").setData(["n": 2])
    #expect(try await !main.document("rooms/eros").getDocument(source: .server).exists)
    #expect(errors.all.count == 1)
    for firestore in [main, second, reached] { try await firestore.terminate() }
  }

  @Test("Details are logged while that is asked for, by a database that exists, too")
  func logging() {
    final class Switch: Sendable { let isOn = Atomic(false) }
    let (messages, verbose) = (LoggedErrors(), Switch())
    let logger = VerboseLogHandler.logger(messages.logger) { verbose.isOn.load(ordering: .relaxed) }
    logger.debug("before")
    verbose.isOn.store(true, ordering: .relaxed)
    logger.debug("meanwhile")
    verbose.isOn.store(false, ordering: .relaxed)
    logger.debug("after")
    logger.error("always")
    #expect(messages.all == ["meanwhile", "always"])
    #expect(Recorded().firestore.configuration.logger.handler is VerboseLogHandler)
  }

  @Test("What the app does not name comes from the module that chooses for it")
  func defaults() {
    let used = Told<FirestoreConfiguration>()
    let defaults = FirestoreDefaults(
      storage: { configuration in
        .memory(StorageOptions(budget: configuration.cacheSizeBytes))
      }, transport: { _ in nil })
    let directory = FirestoreDirectory(defaults) { configuration in
      used.add(configuration, nil)
      return RecordingEngine()
    }
    let errors = LoggedErrors()
    var configuration = FirestoreConfiguration(projectID: "p")
    configuration.logger = errors.logger
    #expect(directory.configure(configuration, app: "[DEFAULT]"))
    let firestore = directory.firestore(app: "[DEFAULT]", database: nil)
    let settings = FirestoreSettings()
    settings.cacheSizeBytes = 5 << 20
    firestore.settings = settings
    #expect(used.values.isEmpty)
    _ = firestore.collection("rooms")
    #expect(used.values.map { $0.storage != nil } == [true])
    #expect(used.values.map(\.cacheSizeBytes) == [5 << 20])
    #expect(errors.all.count == 1 && errors.all[0].hasPrefix("No server is named"))
  }

  @Test("After the end every call tells an error, and the end may be asked for again")
  func terminated() async throws {
    let world = Recorded()
    let document = world.firestore.document("rooms/eros")
    let listener = document.addSnapshotListener { _, _ in }
    try await world.firestore.terminate()
    try await world.firestore.terminate()
    let ends = Ends()
    world.firestore.terminate(completion: ends.add)
    #expect(ends.all == [nil])
    listener.remove()
    #expect(world.engine.calls == ["terminate"])
    await #expect(throws: FirestoreError.self) { try await document.getDocument() }
    await #expect(throws: FirestoreError.self) { try await world.firestore.enableNetwork() }
    let told = Told<DocumentSnapshot>()
    document.addSnapshotListener(told.add)
    #expect(told.codes == [.failedPrecondition])
    document.setData(["a": 1], completion: ends.add)
    #expect(ends.all == [nil, .failedPrecondition])
  }

  @Test("A configuration that is invalid is told by each call")
  func faultyConfiguration() async {
    let world = Recorded { $0.projectID = "" }
    #expect(world.errors.all.count == 1)
    await #expect(throws: FirestoreError.self) {
      try await world.firestore.document("a/b").getDocument()
    }
    #expect(world.engine.calls.isEmpty)
  }

  @Test("The network is used or not, as the app says")
  func network() async throws {
    let world = Recorded()
    let ends = Ends()
    world.firestore.disableNetwork(completion: ends.add)
    try await world.firestore.enableNetwork()
    try await world.firestore.waitForPendingWrites()
    world.firestore.waitForPendingWrites(completion: ends.add)
    world.firestore.tokenDidChange()
    world.firestore.appCheckTokenDidChange()
    #expect(ends.all == [nil, nil])
    #expect(
      world.engine.calls == [
        "network false", "network true", "wait", "wait", "token", "app token",
      ])
  }
}
