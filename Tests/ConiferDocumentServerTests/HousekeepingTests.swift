import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

/// A server of documents keeps its store tidy by itself.
@Suite struct HousekeepingTests {
  private static let quiet = HousekeepingSchedule.Pace().quiet

  private func server(
    _ backend: any StorageBackend, _ clock: HandClock, _ choice: Housekeeping = .automatic
  ) throws -> DocumentServer {
    var configuration = DocumentServerConfiguration()
    configuration.housekeeping = choice
    configuration.housekeepingClock = hand(clock)
    return try DocumentServer(in: backend, configuration)
  }

  private func hand(_ clock: HandClock) -> HousekeepingRunner.Clock {
    HousekeepingRunner.Clock(now: { clock.now }, wake: { clock.wake(at: $0, $1) })
  }

  private func open(_ store: TestStore, _ scratch: Scratch) throws -> any StorageBackend {
    let storage = store.configuration(scratch)
    var options = storage.options
    options.role = .authority
    options.budget = nil
    return try storage.with(options).open()
  }

  /// Writes about a megabyte of messages.
  private func fill(_ server: DocumentServer) async throws {
    var random = Seeded(3)
    let words = ["hello", "see you", "tomorrow", "the train is late", "on my way", "thank you"]
    for room in 0..<20 {
      let writes = try (0..<400).map { number in
        let text = (0..<4).map { _ in words[Int(random.next() % 6)] }.joined(separator: ", ")
        return try Mutation(
          DocumentPath("rooms/r\(room)/messages/m\(number)"),
          .set(
            [
              "author": .string("user-\(random.next() % 50)"), "text": .string(text),
            ], []))
      }
      try await server.commit(writes, in: database)
    }
  }

  private func dictionaries(_ backend: any StorageBackend) throws -> Int {
    try backend.read { (view) throws(StoreError) in try view.usage(nil).dictionaryCount }
  }

  @Test(arguments: TestStore.allCases)
  func `A server that is left alone trains dictionaries`(_ store: TestStore) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(store, scratch)
    let server = try server(backend, clock)
    try await fill(server)
    #expect(try dictionaries(backend) == 0)
    try await eventually("No dictionary is trained.") {
      clock.advance(by: Self.quiet)
      return try dictionaries(backend) > 0
    }
    try await server.close()
    #expect(HousekeepingRunner.users(of: backend) == 0)
    try await backend.close()
  }

  @Test func `A server that is closed twice leaves what others share once`() async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(.memory, scratch)
    let other = HousekeepingRunner.of(
      backend, clock: .init(now: { clock.now }, wake: { clock.wake(at: $0, $1) })
    ) { _ in }
    let server = try server(backend, clock)
    #expect(HousekeepingRunner.users(of: backend) == 2)
    try await server.close()
    try await server.close()
    withExtendedLifetime(other) { #expect(HousekeepingRunner.users(of: backend) == 1) }
    try await backend.close()
  }

  @Test(arguments: TestStore.allCases)
  func `A server that is to leave its store alone never tidies it`(
    _ store: TestStore
  ) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(store, scratch)
    let server = try server(backend, clock, .off)
    try await fill(server)
    #expect(clock.waiting == 0)
    #expect(HousekeepingRunner.users(of: backend) == 0)
    try await server.close()
    try await backend.close()
  }

  @Test(arguments: TestStore.allCases)
  func `At most one slice is done between the call of a commit and its answer`(
    _ store: TestStore
  ) async throws {
    let (scratch, clock) = (try Scratch(), HandClock())
    let backend = try open(store, scratch)
    let server = try server(backend, clock)
    try await fill(server)
    let runner = HousekeepingRunner.of(backend, clock: hand(clock)) { _ in }
    for number in 0..<60 {
      clock.advance(by: Self.quiet)
      let path = try DocumentPath("rooms/r\(number % 20)/messages/m\(number)")
      try await server.commit(
        [Mutation(path, .set(["text": .string("again")], []))], in: database)
    }
    #expect(runner.mostSlicesWaitedFor <= 1)
    #expect(runner.commits >= 60)
    #expect(runner.slices.begun > 1)
    try await server.close()
    try await backend.close()
  }
}
