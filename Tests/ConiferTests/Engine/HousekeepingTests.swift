import ConiferEncryption
import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import Logging
import TestSupport
import Testing

@testable import Conifer

/// The client keeps its storage tidy by itself.
///
/// That nothing is lost when the process is killed meanwhile, or the disk fails, is what the kit checks of
/// `tidy` on each backend.
@Suite struct HousekeepingTests {
  private static let quiet = HousekeepingSchedule.Pace().quiet

  /// A device that has loaded about 1.5 MB of a chat from the server.
  private func loaded(
    _ world: World, _ store: Store, _ change: (inout DatabaseConfiguration) -> Void = { _ in }
  ) async -> Device {
    var random = Seeded(7)
    let words = ["hello", "see you", "tomorrow", "the train is late", "on my way", "thank you"]
    for room in 0..<60 {
      let messages = (0..<200).map { number in
        let text = (0..<4).map { _ in words[Int(random.next() % 6)] }.joined(separator: ", ")
        let message: Node = [
          "author": Node(.string("user-\(random.next() % 50)")), "text": Node(.string(text)),
          "sent": Node(.integer(1_700_000_000_000 + Int64(random.next() % 1_000_000_000))),
        ]
        return (Key("m\(number)"), message)
      }
      world.server.set(Path("rooms/r\(room)"), Node(children: messages), in: World.namespace)
    }
    let device = world.device(store) { configuration in
      configuration.housekeeping = .automatic
      configuration.options.budget = nil
      change(&configuration)
    }
    device.listenToValue("rooms", QueryTarget("rooms"))
    await world.waitUntilIdle()
    return device
  }

  private func usage(_ device: Device) async throws -> StorageUsage {
    try #require(await device.engine.backend).read { (view) throws(StoreError) in
      try view.usage(nil)
    }
  }

  private func runner(_ device: Device) async throws -> HousekeepingRunner {
    try #require(await device.engine.ask { $0.lifetime.storage.housekeeping })
  }

  /// Lets the client be alone until nothing is left to do.
  private func leaveAlone(_ device: Device) async throws {
    let runner = try await runner(device)
    await device.idle()
    try await eventually("Something is always left to do.") {
      device.clock.advance(by: Self.quiet)
      return runner.isResting
    }
  }

  @Test(arguments: Store.allCases)
  func `A client that is left alone trains a dictionary and packs what it has with it`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = await loaded(world, store)
    let before = try await usage(device)
    #expect(before.dictionaryCount == 0 && before.runs.raw > 512 << 10)
    try await leaveAlone(device)
    let after = try await usage(device)
    #expect(after.dictionaryCount == 1)
    #expect(after.total < before.total, "\(before.total) bytes became \(after.total)")
  }

  @Test func `A client that is left alone gives space back, where the store shrinks`() async throws
  {
    let world = try World()
    let device = await loaded(world, .sqlite) { $0.options.compression = .none }
    try await leaveAlone(device)
    let backend = try #require(await device.engine.backend)
    world.serverSets("rooms", "null")
    await world.waitUntilIdle()
    let before = try backend.size()
    #expect(before.free > 400_000)
    try await eventually("No space is given back.") {
      device.clock.advance(by: Self.quiet)
      let size = try backend.size()
      return size.free < 50_000 && size.file < before.file - 400_000
    }
  }

  #if Encryption
    @Test(arguments: Store.allCases)
    func `A client that is left alone finishes a rotation`(_ store: Store) async throws {
      let world = try World()
      let device = await loaded(world, store) {
        $0.options.encryption = StoreEncryption(key: [UInt8](repeating: 1, count: 32))
      }
      let rotated = try await rotate(try #require(await device.engine.backend))
      await device.idle()
      try await eventually("The rotation never ends.") {
        device.clock.advance(by: Self.quiet)
        return !rotated()
      }
      // All is there, under the new key alone.
      let rooms = world.data("rooms")
      await device.engine.close()
      device.configuration.options.encryption = StoreEncryption(
        key: [UInt8](repeating: 2, count: 32))
      guard store != .memory else { return }
      await device.restart(isOnline: false)
      device.listenToValue("rooms", QueryTarget("rooms"))
      await device.idle()
      #expect(device.lines.take() == ["rooms value \(rooms.text)"])
    }

    /// Begins a rotation; gives whether it is not finished.
    private func rotate(_ backend: any StorageBackend) async throws -> @Sendable () -> Bool {
      let backend = try #require(backend as? PackedBackend<EncryptedStore>)
      let key = [UInt8](repeating: 2, count: 32)
      try await backend.withStore { (store) throws(StoreError) in try store.rotate(to: key) }
      #expect(backend.store.isResealing)
      return { backend.store.isResealing }
    }
  #endif

  @Test(arguments: Store.allCases, [Housekeeping.automatic, .off])
  func `A client that is to leave its storage alone never tidies it`(
    _ store: Store, _ choice: Housekeeping
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) { configuration in
      configuration.housekeeping = choice
      guard let storage = configuration.storage else { return }
      configuration.storage = ScriptedBackend.configuration(storage, script)
    }
    for number in 0..<100 { device.set(Path("k\(number)"), "1") }
    await world.waitUntilIdle()
    #expect(script.counts.slices == 0)
    for _ in 0..<100 { await world.pass(Self.quiet) }
    guard choice == .automatic else {
      #expect(script.counts.slices == 0)
      return
    }
    try await eventually("It is never tidied.") { script.counts.slices > 0 }
  }

  @Test(arguments: Store.allCases)
  func `At most one slice is done between the call of a write and its durability`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = await loaded(world, store) { $0.options.durability = .strongest }
    let runner = try await runner(device)
    for number in 0..<60 {
      // Slices follow one another from now on.
      device.clock.advance(by: Self.quiet)
      let receipt = device.set(Path("rooms/r\(number % 30)/m\(number)/text"), #""again""#)
      _ = try await receipt.durable
      await device.idle()
    }
    #expect(runner.mostSlicesWaitedFor <= 1)
    #expect(runner.commits >= 60)
    // Something was done between the writes.
    #expect(runner.slices.begun > 1)
    await world.waitUntilIdle()
    #expect(world.data("rooms/r0/m30/text") == Node(.string("again")))
  }

  @Test(arguments: Store.durable)
  func `Errors that last are told once, and nothing else suffers`(_ store: Store) async throws {
    let world = try World()
    let (notes, script) = (Gathered<String>(), ScriptedBackend.Script())
    script.change { $0.tidyFailure = StoreError(.io, "The disk fails, as the test asked for.") }
    let device = await loaded(world, store) { configuration in
      let handler = NotingLogHandler(notes: notes)
      configuration.logger = Logger(label: "test") { _ in handler }
      guard let storage = configuration.storage else { return }
      configuration.storage = ScriptedBackend.configuration(storage, script)
    }
    func told() -> Int { notes.all.count { $0.contains("could not be tidied") } }
    let runner = try await runner(device)
    for number in 1...20 {
      await device.idle()
      try await eventually("It is never tried again.") {
        device.clock.advance(by: 600_000)
        return runner.slices.begun >= number && !runner.slices.isUnderWay
      }
    }
    #expect(told() == 1)
    device.set("after", "1")
    await world.waitUntilIdle()
    #expect(world.data("after") == 1)
  }
}
