import ConiferLMDB
import ConiferLog
import ConiferQuery
import ConiferSQLite
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Dispatch
import Foundation
import JournalStore
import Synchronization
import TestSupport

@testable import Conifer
@testable import ConiferSync

/// The backends that every scenario runs on; the journal is the outside example's.
enum Store: String, CaseIterable, Sendable {
  case memory
  case lmdb
  case sqlite
  case log
  case journal

  /// Those that outlive a process.
  static let durable: [Store] = [.lmdb, .sqlite, .log, .journal]

  func configuration(at directory: String) -> StorageConfiguration {
    switch self {
    case .memory: .memory
    case .lmdb: .lmdb(at: directory)
    case .sqlite: .sqlite(at: directory)
    case .log: .log(at: directory)
    case .journal: .journal(at: directory)
    }
  }
}

/// Time that moves when a test says so.
final class TestClock: EngineClock {
  /// The wall's time at the beginning.
  static let start: Int64 = 1_700_000_000_000

  private struct State {
    var now: Int64 = 1_000
    var wallTime = TestClock.start
    var wakes: [(moment: Int64, body: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  var now: Int64 { state.withLock { $0.now } }
  var wallTime: Int64 { state.withLock { $0.wallTime } }

  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      if moment <= state.now { return true }
      state.wakes.append((moment, body))
      return false
    }
    if isDue { body() }
  }

  /// Moves the time, and the wall's too.
  func advance(by milliseconds: Int64) {
    let due = state.withLock { state in
      state.now += milliseconds
      state.wallTime += milliseconds
      let now = state.now
      let due = state.wakes.filter { $0.moment <= now }
      state.wakes.removeAll { $0.moment <= now }
      return due
    }
    for wake in due.sorted(by: { $0.moment < $1.moment }) { wake.body() }
  }

  /// Lets the device's wall clock jump.
  func jump(by milliseconds: Int64) { state.withLock { $0.wallTime += milliseconds } }
}

/// A server and its clients, whose messages are delivered one at a time.
final class World {
  static let namespace = "test"

  let server: Server
  let pump: DeliveryPump
  var devices: [Device] = []
  private let scratch: Scratch

  init(seed: UInt64 = 1, _ configuration: ServerConfiguration = ServerConfiguration()) throws {
    server = Server(configuration)
    pump = DeliveryPump(seed: seed)
    scratch = try Scratch()
  }

  deinit {
    for device in devices { try? FileManager.default.removeItem(atPath: device.directory) }
  }

  /// A new client; online unless it is to begin offline.
  func device(
    _ store: Store, isOnline: Bool = true, canDie: Bool = false,
    _ change: (inout DatabaseConfiguration) -> Void = { _ in }
  ) -> Device {
    let directory = "\(scratch.path)/device\(devices.count)"
    let device = Device(
      self, store, directory, number: UInt64(devices.count), isOnline: isOnline,
      mortal: canDie ? Mortal(store, at: directory) : nil, change)
    devices.append(device)
    return device
  }

  /// Delivers messages and lets the clients work until nothing is under way.
  func waitUntilIdle() async {
    repeat {
      for device in devices { await device.idle() }
    } while pump.step()
  }

  /// Lets time pass, and what it brings about happen.
  func pass(_ milliseconds: Int64) async {
    for device in devices {
      device.clock.advance(by: milliseconds)
      await device.idle()
    }
    await waitUntilIdle()
  }

  var data: Node { server.data(in: Self.namespace) }

  func data(_ path: Path) -> Node { server.data(path, in: Self.namespace) }

  /// Writes in the server's own name.
  func serverSets(_ path: Path, _ text: String) { server.set(path, json(text), in: Self.namespace) }
}

/// A node from JSON text.
func json(_ text: String) -> Node {
  do { return try Node(json: text) } catch { return Node(.string("no JSON: \(text)")) }
}

extension Node {
  /// The node as JSON text with priorities.
  var text: String { String(decoding: json(.export), as: UTF8.self) }
}
