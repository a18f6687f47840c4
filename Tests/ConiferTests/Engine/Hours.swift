import ConiferQuery
import ConiferServer
import ConiferSync
import ConiferTree

@testable import Conifer

/// A world whose server's time moves with that of the clients.
struct Hours {
  let world: World
  private let clock: ConiferServer.ServerClock

  init(_ configuration: ServerConfiguration = ServerConfiguration()) throws {
    let clock = ConiferServer.ServerClock(stoppedAt: TestClock.start)
    var configuration = configuration
    configuration.clock = clock
    self.clock = clock
    world = try World(configuration)
  }

  /// Lets time pass, and what it brings about happen.
  func pass(seconds: Int64) async {
    clock.advance(by: seconds * 1000)
    await world.pass(seconds * 1000)
  }

  /// Lets time pass for a client whose connection is held, so that only its clock counts.
  func pass(seconds: Int64, _ device: Device) async {
    advance(seconds: seconds, device)
    await device.idle()
  }

  /// Lets time pass for a client that is suspended, and does not say when it is idle.
  func advance(seconds: Int64, _ device: Device) {
    clock.advance(by: seconds * 1000)
    device.clock.advance(by: seconds * 1000)
  }

  /// Has a client know a target completely, and hear of it no longer.
  func fetch(_ target: QueryTarget, _ device: Device) async {
    let id = device.listen("", target, .init(.childRemoved))
    await world.waitUntilIdle()
    device.engine.stopObserving(id)
    await world.waitUntilIdle()
  }
}
