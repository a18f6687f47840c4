import ConiferKeyValue
import ConiferLMDB
import ConiferServer
import ConiferStorage
import ConiferWire
import Dispatch
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Conifer

@Suite struct `Configuration` {
  let notes = Gathered<String>()

  func configuration(_ storage: StorageConfiguration? = nil) -> DatabaseConfiguration {
    var configuration = DatabaseConfiguration(namespace: "test", storage: storage)
    let handler = NotingLogHandler(notes: notes)
    configuration.logger = Logger(label: "test") { _ in handler }
    return configuration
  }

  func database(_ configuration: DatabaseConfiguration) -> Database {
    Database(configuration) { RecordingEngine($0) }
  }

  @Test func `what is not named is in memory, with 10 MB, and offline`() {
    let configuration = DatabaseConfiguration()
    #expect(configuration.options.budget == 10 << 20)
    #expect(configuration.options.durability == .strongest)
    #expect(configuration.transport == nil)
    #expect(configuration.tokenProvider == nil)
    #expect(configuration.effectiveStorage.name == "memory")
    #expect(!database(configuration).isPersistenceEnabled)
    #expect(configuration.fault == nil)
  }

  @Test func `settings before the first use hold`() throws {
    let database = database(configuration(.lmdb(at: "/nowhere")))
    #expect(database.isPersistenceEnabled)
    database.isPersistenceEnabled = false
    #expect(!database.isPersistenceEnabled)
    #expect(database.configuration.effectiveStorage.name == "memory")
    database.isPersistenceEnabled = true
    database.persistenceCacheSizeBytes = 50 << 20
    #expect(database.persistenceCacheSizeBytes == 50 << 20)
    let storage = database.configuration.effectiveStorage
    #expect(storage.name == "lmdb")
    #expect(storage.location == "/nowhere")
    #expect(storage.options.budget == 50 << 20)
    database.persistenceCacheSizeBytes = .max
    #expect(database.configuration.options.budget == nil)
    #expect(database.persistenceCacheSizeBytes == .max)
    let queue = DispatchQueue(label: "mine")
    database.callbackQueue = queue
    #expect(database.callbackQueue === queue)
    #expect(notes.all.isEmpty)
  }

  @Test func `settings after the first use change nothing, log an error, and read the truth`() {
    let database = database(configuration(.lmdb(at: "/nowhere")))
    let queue = database.callbackQueue
    _ = database.reference()
    database.isPersistenceEnabled = false
    database.persistenceCacheSizeBytes = 2 << 20
    database.callbackQueue = DispatchQueue(label: "mine")
    #expect(database.isPersistenceEnabled)
    #expect(database.persistenceCacheSizeBytes == 10 << 20)
    #expect(database.callbackQueue === queue)
    #expect(notes.all.count == 3)
    #expect(notes.all.allSatisfy { $0.hasPrefix("error:") })
  }

  @Test func `settings that are invalid change nothing and log an error`() {
    let database = database(configuration())
    database.persistenceCacheSizeBytes = 1000
    #expect(database.persistenceCacheSizeBytes == 10 << 20)
    database.isPersistenceEnabled = true
    #expect(!database.isPersistenceEnabled)
    #expect(notes.all.count == 2)
  }

  @Test func `a storage of anybody's is opened with the options that are set`() async throws {
    let given = Mutex<[Int?]>([])
    var configuration = configuration()
    configuration.storage = StorageConfiguration(
      name: "own", location: nil, options: StorageOptions()
    ) { (options) throws(StoreError) in
      given.withLock { $0.append(options.budget) }
      return try StorageConfiguration.memory(options).open()
    }
    let database = database(configuration)
    database.persistenceCacheSizeBytes = 50 << 20
    #expect(database.persistenceCacheSizeBytes == 50 << 20)
    #expect(notes.all.isEmpty)
    let engine = Engine(database.configuration)
    await engine.close()
    #expect(given.withLock { $0 } == [50 << 20])
  }

  @Test func `no log names a token, also when tokens are refused and writes fail`() async throws {
    struct Secretive: TokenProvider {
      func token(forcingRefresh: Bool) async throws -> Conifer.AuthToken? {
        Conifer.AuthToken("xyzzy-secret-token", identity: "ada")
      }
    }
    let server = Server()
    let transport = server.transport()
    transport.refuseTokens(next: 1)
    transport.refuse(next: 1)
    var configuration = configuration()
    configuration.transport = transport
    configuration.tokenProvider = Secretive()
    let database = Database(configuration)
    // A provider that is slow to answer counts as failed for a while.
    for await state in database.authStates where state == .signedIn(identity: "ada") { break }
    _ = await failure { try await database.reference(withPath: "a").setValue(1) }
    try await database.reference(withPath: "a").setValue(2)
    transport.disconnect()
    try await database.reference(withPath: "a").setValue(3)
    await database.close()
    #expect(!notes.all.isEmpty)
    #expect(!notes.all.contains { $0.contains("xyzzy") })
  }

  @Test func `a configuration that is invalid is told, and put right`() {
    var wrong = configuration()
    wrong.namespace = ""
    wrong.options.budget = 5
    wrong.isPersistenceEnabled = true
    let error = #expect(throws: DatabaseError.self) { try wrong.validate() }
    #expect(error?.code == .invalidConfiguration)
    let database = database(wrong)
    #expect(notes.all.count == 3)
    #expect(database.configuration.fault == nil)
    #expect(database.configuration.namespace == "default")
    #expect(database.persistenceCacheSizeBytes == 1 << 20)
    #expect(!database.isPersistenceEnabled)
  }

  @Test func `durability, compression and budget reach the storage`() {
    var configuration = configuration(.lmdb(at: "/nowhere"))
    configuration.options.durability = .process
    configuration.options.compression = .none
    configuration.options.budget = nil
    #expect(configuration.fault == nil)
    let options = configuration.effectiveStorage.options
    #expect(options.durability == .process)
    #expect(options.compression == .none)
    #expect(options.budget == nil)
  }

  @Test(arguments: ["", "nonsense", "https://", "ftp://a.b.c"])
  func `a URL that is none is refused`(url: String) {
    let error = #expect(throws: DatabaseError.self) { try DatabaseConfiguration(url: url) }
    #expect(error?.code == .invalidURL)
  }

  @Test func `callbacks of a concurrent queue still come one after the other`() async {
    var configuration = configuration()
    configuration.callbackQueue = .queue(DispatchQueue(label: "wide", attributes: .concurrent))
    let database = database(configuration)
    let begun = Gathered<Int>()
    let next = DispatchSemaphore(value: 0)
    await withCheckedContinuation { continuation in
      database.deliver {
        begun.add(1)
        // The second one begins meanwhile, if it is let; it must wait for this one's end.
        if next.wait(timeout: .now() + .milliseconds(500)) == .success { begun.add(-1) }
        begun.add(2)
      }
      database.deliver {
        begun.add(3)
        next.signal()
      }
      database.deliver { continuation.resume() }
    }
    #expect(begun.all == [1, 2, 3])
  }

  actor Home {
    private(set) var numbers: [Int] = []
    func add(_ number: Int) { numbers.append(number) }
  }

  @Test func `callbacks run on an actor where one is named, in order`() async {
    let home = Home()
    var configuration = configuration()
    configuration.callbackQueue = .actor(home)
    let database = database(configuration)
    await withCheckedContinuation { continuation in
      for number in 0..<200 {
        database.deliver { home.assumeIsolated { $0.addNow(number) } }
      }
      database.deliver { continuation.resume() }
    }
    #expect(await home.numbers == Array(0..<200))
  }
}

extension `Configuration`.Home {
  /// As `add`, for who is on the actor already.
  func addNow(_ number: Int) { add(number) }
}

@Suite struct `The databases of the class` {
  let directory = DatabaseDirectory(nil)

  @Test func `the main one is configured once, and has no persistence until that is set`() {
    var configuration = DatabaseConfiguration(namespace: "one", storage: .lmdb(at: "/nowhere"))
    #expect(directory.configure(configuration))
    #expect(directory.main === directory.main)
    #expect(directory.main.configuration.namespace == "one")
    #expect(!directory.main.isPersistenceEnabled)
    directory.main.isPersistenceEnabled = true
    #expect(directory.main.isPersistenceEnabled)
    configuration.namespace = "two"
    #expect(!directory.configure(configuration))
    #expect(directory.main.configuration.namespace == "one")
  }

  @Test func `a configuration that says so has persistence at once`() {
    var configuration = DatabaseConfiguration(storage: .lmdb(at: "/nowhere"))
    configuration.isPersistenceEnabled = true
    _ = directory.configure(configuration)
    #expect(directory.main.isPersistenceEnabled)
  }

  @Test func `without a configuration there is one in memory`() {
    #expect(directory.main.configuration.effectiveStorage.name == "memory")
    #expect(directory.main === directory.main)
    #expect(!directory.configure(DatabaseConfiguration(namespace: "late")))
  }

  @Test func `a URL gives the main one or another`() throws {
    _ = directory.configure(try DatabaseConfiguration(url: "https://one.example.com"))
    let main = directory.main
    #expect(directory.database("https://one.example.com/rooms") === main)
    let other = directory.database("https://two.example.com")
    #expect(other !== main)
    #expect(other.configuration.namespace == "two")
    #expect(directory.database("https://two.example.com") === other)
    #expect(directory.database("nonsense") === main)
  }

  @Test func `those in use go offline and online together`() async throws {
    let server = Server()
    var configuration = try DatabaseConfiguration(url: "https://one.example.com")
    configuration.transport = server.transport()
    _ = directory.configure(configuration)
    let used = [directory.main, directory.database("https://one.example.com?ns=two")]
    let unused = directory.database("https://one.example.com?ns=three")
    /// Waits until each is as it is to be.
    func wait(until isConnected: Bool) async {
      for database in used {
        for await state in database.connectionStates where state == isConnected { break }
      }
    }
    for database in used { _ = database.reference() }
    await wait(until: true)
    directory.goOffline()
    await wait(until: false)
    #expect(!unused.isInUse)
    directory.goOnline()
    await wait(until: true)
    for database in used { await database.close() }
  }

  @Test func `one of another host has a way of its own, or none`() throws {
    var configuration = try DatabaseConfiguration(url: "https://one.example.com")
    configuration.transport = NamedTransport(name: "one", others: true)
    _ = directory.configure(configuration)
    func way(_ url: String, _ directory: DatabaseDirectory) -> String? {
      directory.database(url).configuration.transport?.description
    }
    #expect(way("https://one.example.com/?ns=two", directory) == "one")
    #expect(way("https://two.example.com", directory) == "wss two.example.com")
    #expect(way("http://localhost:9000/?ns=two", directory) == "ws localhost:9000")
    configuration.transport = NamedTransport(name: "one", others: false)
    let alone = DatabaseDirectory(nil)
    _ = alone.configure(configuration)
    #expect(way("https://one.example.com/?ns=two", alone) == "one")
    #expect(way("https://two.example.com", alone) == nil)
  }

  @Test func `with defaults, one that is had by a URL keeps its data as the main one does`()
    async throws
  {
    let base = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: base) }
    let defaults = AppDefaults(
      storage: { .lmdb(at: base.appendingPathComponent($0.namespace).path) },
      transport: { _, _ in nil })
    let urls = [
      "https://one.example.com", "https://two.example.com", "https://one.example.com?ns=b",
    ]
    for run in 0...1 {
      let directory = DatabaseDirectory(defaults)
      #expect(try directory.configure(url: urls[0]))
      for url in urls {
        let database = directory.database(url)
        #expect(!database.isPersistenceEnabled)
        database.isPersistenceEnabled = true
        #expect(database.isPersistenceEnabled)
        if run == 0 {
          _ = try await database.reference(withPath: "a").enqueue(.set(url)).durable
        } else {
          let kept = try await database.reference(withPath: "a").observeSingleEvent(of: .value)
          #expect(kept.value as? String == url)
        }
        await database.close()
      }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: base.path)
    #expect(names.sorted() == ["b", "one", "two"])
  }

  @Test func `a database of the app's own takes no defaults, nor those of another's configuration`()
  {
    let directory = DatabaseDirectory(
      AppDefaults(storage: { _ in .lmdb(at: "/nowhere") }, transport: { _, _ in nil }))
    let common = directory.main
    common.isPersistenceEnabled = true
    #expect(common.isPersistenceEnabled)
    #expect(!Database(common.configuration).isPersistenceEnabled)
  }
}

/// A transport that leads nowhere, under a name.
private struct NamedTransport: Transport {
  let name: String
  let others: Bool

  var description: String { name }

  func connect(
    _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
  ) -> any TransportConnection { Connection(receive) }

  func leading(to host: String, isSecure: Bool) -> (any Transport)? {
    others ? NamedTransport(name: "\(isSecure ? "wss" : "ws") \(host)", others: true) : nil
  }

  private final class Connection: TransportConnection {
    init(_ receive: @escaping @Sendable (TransportEvent) -> Void) {
      DispatchQueue.global().async { receive(.closed("Nobody is there.")) }
    }

    func send(_ message: ClientMessage) {}
    func close() {}
  }
}
