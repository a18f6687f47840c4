import ConiferQuery
import ConiferStorage
import ConiferWire
import Synchronization
import Testing

@testable import Conifer

/// What an engine does when its transport says that the network is back.
@Suite struct NetworkWatchTests {
  /// A transport without a network, whose watch a test calls.
  private final class Nowhere: Transport {
    private final class Connection: TransportConnection {
      func send(_ message: ClientMessage) {}
      func close() {}
    }

    private final class Watch: NetworkWatch {
      let isStopped = Atomic(false)
      func stop() { isStopped.store(true, ordering: .relaxed) }
    }

    private let returned = Mutex<(@Sendable () -> Void)?>(nil)
    private let watch = Watch()
    let attempts = Atomic(0)
    let description = "nowhere"

    var isStopped: Bool { watch.isStopped.load(ordering: .relaxed) }

    func connect(
      _ request: ConnectionRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
      attempts.add(1, ordering: .relaxed)
      receive(.closed("There is no network."))
      return Connection()
    }

    func watchNetwork(_ returned: @escaping @Sendable () -> Void) -> (any NetworkWatch)? {
      self.returned.withLock { $0 = returned }
      return watch
    }

    func bringBack() { returned.withLock { $0 }?() }
  }

  @Test func `A returned network begins a waiting attempt at once`() async throws {
    let transport = Nowhere()
    let world = try World()
    let device = world.device(.memory) { $0.transport = transport }
    await device.idle()
    #expect(transport.attempts.load(ordering: .relaxed) == 1)
    device.clock.advance(by: 100)
    await device.idle()
    #expect(transport.attempts.load(ordering: .relaxed) == 1, "the second attempt waits")
    transport.bringBack()
    await device.idle()
    #expect(transport.attempts.load(ordering: .relaxed) == 2)
    device.engine.goOffline()
    await device.idle()
    transport.bringBack()
    await device.idle()
    #expect(transport.attempts.load(ordering: .relaxed) == 2, "who is away stays away")
    #expect(!transport.isStopped)
    await device.engine.close()
    #expect(transport.isStopped)
  }
}
