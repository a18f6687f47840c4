import ConiferKeyValue
import ConiferLog
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Foundation
import Logging
import Synchronization
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
    await world.waitUntilIdle()
    let numbers = sent.all.compactMap { request -> Int? in
      guard case .put(_, let node, _) = request, let number = node.leaf?.number else { return nil }
      return Int(number)
    }
    #expect(numbers.count >= 20)
    #expect(numbers == Array(1...max(1, numbers.count)))
    #expect(try await device.queued().isEmpty)
  }

  /// Killed when the last write is answered, the next one has nothing to send.
  @Test(arguments: Store.durable, [1, 25, 60])
  func `A process that is killed while its queue drains loses nothing, and keeps the order`(
    _ store: Store, _ end: Int
  ) async throws {
    let directory = FileManager.default.temporaryDirectory.path + "/drain-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [store = store.rawValue as String, directory = directory as String, end = end as Int] in
      let drain = try await Drain(store, directory)
      drain.engine.goOffline()
      for number in 1...60 {
        _ = drain.engine.write(
          .update(
            .root,
            [
              NodeChange(Path("list/k\(number)"), Node(.integer(Int64(number)))),
              NodeChange("last", Node(.integer(Int64(number)))),
            ]),
          completion: { _ in
            if number == end { kill(getpid(), SIGKILL) }
          })
      }
      drain.engine.goOnline()
      // Killed long before.
      try await Task.sleep(for: .seconds(60))
    }
    let sent = Atomic(0)
    let drain = try await Drain(store.rawValue, directory) {
      guard case .toServer(.request(_, .merge)) = $0 else { return }
      sent.add(1, ordering: .relaxed)
    }
    for number in 1...60 as ClosedRange<UInt64> {
      let id = WriteReceipt.ID(identity: "", number: number)
      #expect(try await drain.engine.outcome(of: id) == .acknowledged)
    }
    if end == 60 { #expect(sent.load(ordering: .relaxed) == 0) }
    let data = drain.server.data(in: World.namespace)
    #expect(data[Key("list")].childCount == 60)
    #expect(data[Key("last")].leaf?.number == 60)
    await drain.engine.close()
    try await drain.authority.close()
  }
}

/// A client and a server that each keep their data in a store.
private struct Drain {
  let server = Server()
  let authority: any StorageBackend
  let engine: Engine

  init(
    _ store: String, _ directory: String,
    _ watch: (@Sendable (InProcessTransport.Delivered) -> Void)? = nil
  ) async throws {
    var options = StorageOptions()
    options.role = .authority
    authority = try StorageConfiguration.log(at: directory + "/server", options: options).open()
    try await server.open(World.namespace, in: authority, durability: .process)
    let transport = server.transport()
    if let watch { transport.watch(watch) }
    var configuration = DatabaseConfiguration(
      namespace: World.namespace,
      storage: (Store(rawValue: store) ?? .log).configuration(at: directory + "/client"),
      transport: transport)
    configuration.logger.logLevel = .critical
    engine = Engine(configuration)
  }
}
