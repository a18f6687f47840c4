import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Dispatch
import Testing

@testable import Conifer

/// A client that is slower than its server.
@Suite struct PressureTests {
  @Test(arguments: Store.allCases)
  func `News that come faster than they are stored wait at the server's end`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    device.listenToValue("n", QueryTarget("n"))
    await world.waitUntilIdle()
    let before = device.transport.counts.toClient
    let release = DispatchSemaphore(value: 0)
    // The engine's thread is held up, as by a commit that takes its time.
    device.engine.steps.post(.run { _ in release.wait() })
    let count = 2_000
    for number in 1...count { world.serverSets("n", "\(number)") }
    world.pump.run()
    let came = device.transport.counts.toClient - before
    #expect(came >= 64 && came <= 256, "\(came) messages wait in the client")
    release.signal()
    await world.waitUntilIdle()
    // Nothing is lost, and all came in order.
    #expect(
      device.lines.take().suffix(count) == (1...count).map { "n value \($0)" }[...])
  }
}
