import ConiferKeyValue
import ConiferKit
import ConiferStorage
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A database of documents without a server when its disk fails or is damaged, when its app is killed, and with what it
/// cannot have.
@Suite(.timeLimit(.minutes(10))) struct `Documents without a server, in trouble` {
  private func open(
    _ storage: StorageConfiguration, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) -> Firestore {
    var configuration = FirestoreConfiguration.local(storage: storage)
    configuration.logger.logLevel = .critical
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    change(&configuration)
    return Firestore(configuration)
  }

  private func number(_ path: String, in db: Firestore) async throws -> Int? {
    try await db.document(path).getDocument().get("n") as? Int
  }

  private func outcome(of receipt: WriteReceipt) async -> FirestoreError.Code? {
    do throws(DatabaseError) {
      try await receipt.acknowledged()
      return nil
    } catch { return FirestoreError(error).code }
  }

  @Test func `a full disk refuses at once, and writes go on when it has room`() async throws {
    let disk = FailingDisk()
    let db = open(disk.storage)
    let place = db.document("a/b")
    try await place.setData(["n": 1])
    disk.set(.failing(.full))
    let receipts = (0..<100).map { db.document("n/\($0)").enqueue(.set(["n": $0])) }
    for receipt in receipts { #expect(await outcome(of: receipt) == .resourceExhausted) }
    #expect(await outcome(of: place.setData(["n": 2])) == .resourceExhausted)
    let transaction = await #expect(throws: FirestoreError.self) {
      try await db.runTransaction { $0.setData(["n": 3], forDocument: place) }
    }
    #expect(transaction?.code == .resourceExhausted)
    #expect(try await number("a/b", in: db) == 1)
    disk.set(.sound)
    try await place.setData(["n": 4])
    #expect(try await number("a/b", in: db) == 4)
    #expect(try await db.collection("n").getDocuments().isEmpty)
    try await db.terminate()
  }

  @Test func `a commit in doubt is acknowledged once, when it is known to be stored`() async throws
  {
    let disk = FailingDisk()
    let clock = HandClock()
    let db = open(disk.storage) { $0.clock = HandEngineClock(clock) }
    let place = db.document("a/b")
    try await place.setData(["n": 1])
    disk.set(.doubtful)
    let receipt = place.enqueue(.update(["n": FieldValue.increment(Int64(1))]))
    let told = Mutex(false)
    let waiting = Task {
      let code = await outcome(of: receipt)
      told.withLock { $0 = true }
      return code
    }
    try await eventually("the write is not on its way") { disk.doubted > 0 }
    disk.set(.failing(.io))
    let failures = disk.failures
    try await eventually("it is not tried again") {
      clock.advance(by: 60_000)
      return disk.failures > failures + 2
    }
    #expect(!told.withLock { $0 })
    disk.set(.sound)
    try await eventually("it is not acknowledged") {
      clock.advance(by: 60_000)
      return told.withLock { $0 }
    }
    #expect(await waiting.value == nil)
    // It was made once, though the store was asked several times.
    #expect(try await number("a/b", in: db) == 2)
    try await db.terminate()
  }

  @Test func `an authority that takes long is waited for, as it is never out of reach`()
    async throws
  {
    let disk = FailingDisk()
    let clock = HandClock()
    let db = open(disk.storage) { $0.clock = HandEngineClock(clock) }
    try await db.document("a/b").setData(["n": 1])
    let reading = Task { try await db.document("a/b").getDocument().metadata.isFromCache }
    for _ in 0..<200 {
      clock.advance(by: 20_000)
      await Task.yield()
    }
    #expect(try await !reading.value)
    try await db.terminate()
  }

  @Test func `a disk that hangs up ends terminating after a while, and what is lost is told`()
    async throws
  {
    let disk = FailingDisk()
    let clock = HandClock()
    let notes = Gathered<String>()
    let db = open(disk.storage) {
      $0.clock = HandEngineClock(clock)
      $0.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
    try await db.document("a/b").setData(["n": 1])
    disk.set(.failing(.io))
    let receipt = db.document("a/b").enqueue(.set(["n": 2]))
    let ending = Task { try await db.terminate() }
    let isOver = Mutex(false)
    Task {
      try? await ending.value
      isOver.withLock { $0 = true }
    }
    try await eventually("it does not give up") {
      clock.advance(by: 1_000)
      return isOver.withLock { $0 }
    }
    #expect(await outcome(of: receipt) == .failedPrecondition)
    #expect(notes.all.contains { $0.contains("in memory alone") && $0.contains("1") })
  }

  @Test func `the id of a write of an earlier run is not that of another one`() async throws {
    let scratch = try Scratch()
    func run() async throws -> (Firestore, WriteReceipt.ID) {
      let db = open(.sqlite(at: scratch.store))
      let receipt = db.document("a/b").enqueue(.set(["n": 1]))
      try await receipt.acknowledged()
      return (db, try #require(try await receipt.id))
    }
    let (first, old) = try await run()
    #expect(try await first.outcome(of: old) == .acknowledged)
    try await first.terminate()
    let (second, new) = try await run()
    let error = await #expect(throws: FirestoreError.self) { try await second.outcome(of: old) }
    #expect(error?.code == .notFound)
    #expect(try await second.outcome(of: new) == .acknowledged)
    try await second.terminate()
  }

  private struct NoToken: TokenProvider {
    struct Unreachable: Error {}
    func token(forcingRefresh: Bool) async throws -> AuthToken? { throw Unreachable() }
  }

  @Test func `a token provider is a mistake, which is put right`() async throws {
    let scratch = try Scratch()
    let db = open(.sqlite(at: scratch.store)) { configuration in
      configuration.tokenProvider = NoToken()
      let mistaken = configuration
      #expect(throws: FirestoreError.self) { try mistaken.validate() }
    }
    try await db.document("a/b").setData(["n": 1])
    db.tokenDidChange()
    try await db.document("a/b").setData(["n": 2])
    #expect(try await number("a/b", in: db) == 2)
    try await db.terminate()
  }

  @Test(arguments: KitStore.allCases)
  func `a store that cannot be opened is an error, and nothing of it is removed`(
    _ store: KitStore
  ) async throws {
    let scratch = try Scratch()
    let first = open(store.storage(at: scratch.store))
    try await first.document("a/b").setData(["n": 1])
    try await first.terminate()
    for file in Scratch.files(scratch.store) where Scratch.read(file).count > 64 {
      var bytes = Data(Scratch.read(file))
      bytes.replaceSubrange(0..<64, with: Data(repeating: 0x5A, count: 64))
      try bytes.write(to: URL(fileURLWithPath: file))
    }
    let before = contents(scratch.store)
    let db = open(store.storage(at: scratch.store))
    let reading = await #expect(throws: FirestoreError.self) {
      _ = try await db.document("a/b").getDocument()
    }
    #expect(reading?.message.contains("could not be opened") == true)
    #expect(await outcome(of: db.document("a/b").setData(["n": 2])) != nil)
    try await db.terminate()
    #expect(contents(scratch.store) == before)
  }

  private func contents(_ directory: String) -> [String: Data] {
    Dictionary(
      uniqueKeysWithValues: Scratch.files(directory).map { ($0, Data(Scratch.read($0))) })
  }
}

/// The app's common database of documents without a server, in processes of their own.
@Suite(.timeLimit(.minutes(10))) struct `An app of documents without a server` {
  @Test func `killed and started again, it has what it was told is written`() async throws {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [home = home as String] in
      let db = Self.database(home)
      for number in 0..<50 { try await db.document("n/\(number)").setData(["n": number]) }
      for number in 50..<100 { db.document("n/\(number)").enqueue(.set(["n": number])) }
      kill(getpid(), SIGKILL)
    }
    await #expect(processExitsWith: .success) { [home = home as String] in
      let db = Self.database(home)
      let kept = try await db.collection("n").getDocuments()
      let numbers = Set(kept.documents.compactMap { $0.get("n") as? Int })
      // Of those that nobody awaited, the first ones may be there.
      #expect(numbers.isSuperset(of: 0..<50) && numbers == Set(0..<numbers.count))
      // Another database of the project has a directory of its own.
      let other = Firestore.firestore(database: "other")
      try await other.document("a/b").setData(["n": 1])
      #expect(try await other.document("a/b").getDocument().exists)
      try await other.terminate()
      try await db.terminate()
    }
  }

  @Test func `the sample of the page keeps its document, and finds it when it is run again`()
    async throws
  {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    for _ in 0..<2 {
      await #expect(processExitsWith: .success) { [home = home as String] in
        setenv("XDG_DATA_HOME", home, 1)
        setenv("HOME", home, 1)
        let shown = Gathered<String>()
        try await LocalFirestoreSamples.keepLocally { shown.add($0) }
        #expect(shown.all == ["Eros"])
      }
    }
  }

  private static func database(_ home: String) -> Firestore {
    setenv("XDG_DATA_HOME", home, 1)
    setenv("HOME", home, 1)
    Firestore.configure(.local("notes"))
    return Firestore.firestore()
  }
}

/// A clock of the engine that a test moves.
private struct HandEngineClock: EngineClock {
  let clock: HandClock

  init(_ clock: HandClock) { self.clock = clock }

  var wallTime: Int64 { 1_700_000_000_000 + clock.now }
  var now: Int64 { clock.now }
  func wake(at time: Int64, _ body: @escaping @Sendable () -> Void) { clock.wake(at: time, body) }
}
