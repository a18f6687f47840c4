import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferServer
import ConiferStorage
import ConiferTree
import JournalStore
import TestSupport
import Testing

/// A server keeps its stores tidy by itself.
@Suite struct HousekeepingTests {
  private static let quiet = HousekeepingSchedule.Pace().quiet
  private static let kinds = ["memory", "lmdb", "sqlite", "log", "journal"]

  private func open(_ kind: String, _ scratch: Scratch) throws -> any StorageBackend {
    let options = StorageOptions(
      budget: nil, durability: kind == "memory" ? .strongest : .process, role: .authority)
    let storage: StorageConfiguration =
      switch kind {
      case "lmdb": .lmdb(at: scratch.store, options: options)
      case "sqlite": .sqlite(at: scratch.store, options: options)
      case "log": .log(at: scratch.store, options: options)
      case "journal": .journal(at: scratch.store, options: options)
      default: .memory(options)
      }
    return try storage.open()
  }

  private func server(_ clock: HandClock, _ choice: Housekeeping = .automatic) -> Server {
    var configuration = ServerConfiguration()
    configuration.housekeeping = choice
    configuration.housekeepingClock = HousekeepingRunner.Clock(
      now: { clock.now }, wake: { clock.wake(at: $0, $1) })
    return Server(configuration)
  }

  /// Writes about a megabyte of a chat.
  private func fill(_ server: Server) async {
    var random = Seeded(3)
    let words = ["hello", "see you", "tomorrow", "the train is late", "on my way", "thank you"]
    for room in 0..<40 {
      let messages = (0..<200).map { number in
        let text = (0..<4).map { _ in words[Int(random.next() % 6)] }.joined(separator: ", ")
        let message: Node = [
          "author": Node(.string("user-\(random.next() % 50)")), "text": Node(.string(text)),
        ]
        return (Key("m\(number)"), message)
      }
      server.set(Path("rooms/r\(room)"), Node(children: messages), in: "ns")
    }
    await server.waitUntilIdle("ns")
  }

  private func dictionaries(_ backend: any StorageBackend) throws -> Int {
    try backend.read { (view) throws(StoreError) in try view.usage(nil).dictionaryCount }
  }

  @Test(arguments: kinds)
  func `A server that writes nothing for a while trains a dictionary`(_ kind: String) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(kind, scratch)
    let server = server(clock)
    try await server.open("ns", in: backend)
    await fill(server)
    #expect(try dictionaries(backend) == 0)
    try await eventually("No dictionary is trained.") {
      clock.advance(by: Self.quiet)
      return try dictionaries(backend) == 1
    }
    await server.waitUntilIdle("ns")
    try await backend.close()
  }

  @Test(arguments: kinds)
  func `A server that is to leave its store alone never tidies it`(_ kind: String) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(kind, scratch)
    let server = server(clock, .off)
    try await server.open("ns", in: backend)
    await fill(server)
    #expect(clock.waiting == 0)
    #expect(HousekeepingRunner.users(of: backend) == 0)
    try await backend.close()
  }

  @Test(arguments: kinds)
  func `At most one slice is done between the call of a write and its answer`(
    _ kind: String
  ) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(kind, scratch)
    let server = server(clock)
    try await server.open("ns", in: backend)
    await fill(server)
    let runner = HousekeepingRunner.of(
      backend, clock: .init(now: { clock.now }, wake: { clock.wake(at: $0, $1) })
    ) { _ in }
    #expect(HousekeepingRunner.users(of: backend) == 2)
    // On a busy machine each write may come before the slice that was due.
    try await eventually("No slice has begun.") {
      clock.advance(by: Self.quiet)
      return runner.slices.begun > 0
    }
    for number in 0..<60 {
      clock.advance(by: Self.quiet)
      server.set(Path("rooms/r\(number % 30)/m\(number)/text"), "again", in: "ns")
      await server.waitUntilIdle("ns")
    }
    #expect(runner.mostSlicesWaitedFor <= 1)
    #expect(runner.commits >= 60)
    try await backend.close()
  }

  @Test func `Databases of one store share its housekeeping`() async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open("sqlite", scratch)
    do {
      let server = server(clock)
      for number in 0..<5 { try await server.open("ns\(number)", in: backend) }
      // One that is refused is no user.
      await #expect(throws: StoreError.self) { try await server.open("ns3", in: backend) }
      withExtendedLifetime(server) { #expect(HousekeepingRunner.users(of: backend) == 5) }
    }
    #expect(HousekeepingRunner.users(of: backend) == 0)
    try await backend.close()
  }
}
