import ConiferQuery
import ConiferStorage
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Logging
import Testing

@testable import Conifer
@testable import ConiferSync

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A real process is killed, and the next one goes on.
@Suite struct CrashTests {
  @Test(arguments: Store.durable)
  func `Offline writes of a killed process are sent once, in order`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    await device.engine.close()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [store = store.rawValue as String, directory = device.directory as String] in
      var configuration = DatabaseConfiguration(
        namespace: World.namespace,
        storage: (Store(rawValue: store) ?? .log).configuration(at: directory))
      configuration.logger.logLevel = .critical
      let engine = Engine(configuration)
      for number in 1...30 {
        let receipt = engine.write(
          .set(Path("list/k\(number % 7)"), Node(.integer(Int64(number)))), completion: nil)
        // The last ones are killed in the queue of the store's thread or before.
        if number <= 20 { _ = try await receipt.id }
      }
      kill(getpid(), SIGKILL)
    }
    await device.restart()
    let sent = Sent(device)
    await world.settle()
    let numbers = sent.all.compactMap { request -> Int? in
      guard case .put(_, let node, _) = request, let number = node.leaf?.number else { return nil }
      return Int(number)
    }
    #expect(numbers.count >= 20)
    #expect(numbers == Array(1...max(1, numbers.count)))
    #expect(try await device.queued().isEmpty)
  }
}
