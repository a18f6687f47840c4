import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Logging
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// Closing and suspending wait until the authority in this process has answered what was written.
@Suite(.timeLimit(.minutes(10))) struct HandOverTests {
  /// An authority whose messages a test delivers.
  private final class Authority: LocalAuthority, Transport {
    let way: InProcessTransport

    init(_ way: InProcessTransport) { self.way = way }

    nonisolated(nonsending) func open() async throws(StoreError) {}
    nonisolated(nonsending) func suspend() async throws(StoreError) {}
    nonisolated(nonsending) func resume() async throws(StoreError) {}
    nonisolated(nonsending) func close() async throws(StoreError) {}

    func connect(
      _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection { way.connect(request, receive: receive) }

    var description: String { "a test" }
  }

  private let world: World
  private let device: Device
  private let notes = Gathered<String>()

  init() throws {
    world = try World()
    let server = world.server
    let pump = world.pump
    device = world.device(.memory) { [notes] configuration in
      configuration.transport = nil
      configuration.localAuthority = { _ in Authority(server.transport(.manual(pump))) }
      configuration.logger = Logger(label: "test") { _ in NotingLogHandler(notes: notes) }
    }
  }

  /// Writes, and begins to close; returns when that waits for the authority.
  private func beginToClose(_ count: Int) async throws -> ([WriteReceipt], Task<Void, Never>) {
    await world.waitUntilIdle()
    let receipts = (0..<count).map { device.set(Path(["n", "\($0)"].map { Key($0) }), "1") }
    let engine = device.engine
    let closing = Task { await engine.close() }
    try await eventually("nobody waits") { await waiting == 1 }
    return (receipts, closing)
  }

  private var waiting: Int { get async { await device.engine.ask { $0.drains.count } } }

  private var endedCount: Int {
    get async { await device.engine.ask { $0.writes.progress.endedCount } }
  }

  /// Delivers messages until one more write has ended.
  private func deliverOneAnswer() async {
    let before = await endedCount
    while await endedCount == before, world.pump.step() { await device.idle() }
  }

  @Test func `as long as writes end, they wait, however long that takes`() async throws {
    let (receipts, closing) = try await beginToClose(5)
    for _ in 0..<4 {
      device.clock.advance(by: 29_000)
      await device.idle()
      await deliverOneAnswer()
    }
    #expect(await waiting == 1)
    await deliverOneAnswer()
    await closing.value
    for receipt in receipts { try await receipt.acknowledged() }
    #expect(world.data("n").childCount == 5)
  }

  @Test func `when nothing ends for thirty seconds they give up, and say how much is left`()
    async throws
  {
    let (receipts, closing) = try await beginToClose(3)
    await deliverOneAnswer()
    device.clock.advance(by: 30_000)
    await device.idle()
    #expect(await waiting == 1)
    device.clock.advance(by: 29_999)
    await device.idle()
    #expect(await waiting == 1)
    device.clock.advance(by: 1)
    await closing.value
    #expect(notes.all.contains { $0.contains("in memory alone") && $0.contains("2") })
    let error = await failure { try await receipts[2].acknowledged() }
    #expect(error?.code == .closed)
    #expect(error?.remedy?.contains("written again") == true)
  }

  @Test func `an app that goes offline meanwhile does not end it`() async throws {
    let (receipts, closing) = try await beginToClose(3)
    device.engine.goOffline()
    await device.idle()
    await deliverOneAnswer()
    await deliverOneAnswer()
    await deliverOneAnswer()
    #expect(world.data("n").childCount == 3)
    #expect(await endedCount == 3)
    await closing.value
    for receipt in receipts { try await receipt.acknowledged() }
  }

  @Test func `suspended and resumed, an app that went offline meanwhile is offline`() async throws {
    await world.waitUntilIdle()
    device.set("a", "1")
    let engine = device.engine
    let suspending = Task { try await engine.suspend() }
    try await eventually("nobody waits") { await waiting == 1 }
    engine.goOffline()
    await device.idle()
    // Nothing is asked of the engine from here on, as it would wait until the storage is resumed.
    world.pump.run()
    try await suspending.value
    try await engine.resume()
    device.set("a", "2")
    await world.waitUntilIdle()
    #expect(world.data("a") == json("1"))
    engine.goOnline()
    await world.waitUntilIdle()
    #expect(world.data("a") == json("2"))
    await engine.close()
  }
}
