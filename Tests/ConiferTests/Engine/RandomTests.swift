import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// Two clients and a server do what a seed says; at rest all agree.
///
/// `CONIFER_PROGRAMS` says how many programs run on each backend, `CONIFER_SEED` names the first or,
/// with `CONIFER_PROGRAMS=1`, the only one; `CONIFER_STORE` names one backend, `CONIFER_TRACE` shows all,
/// and with `CONIFER_RACE` the clients work at the same time, so that a seed gives no longer the same.
@Suite struct RandomTests {
  private static var stores: [Store] {
    let name = ProcessInfo.processInfo.environment["CONIFER_STORE"]
    return name.flatMap { Store(rawValue: $0) }.map { [$0] } ?? Store.allCases
  }

  @Test(arguments: stores)
  func `At rest all agree, nothing is lost, and listeners saw a legal sequence`(
    _ store: Store
  ) async throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["CONIFER_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["CONIFER_PROGRAMS"].flatMap { UInt64($0) } ?? 5
    for seed in first..<(first + count) {
      if environment["CONIFER_TRACE"] != nil { print("seed \(seed)") }
      let faults = try await TwoClients(seed, store).run()
      #expect(faults == [], "seed \(seed) on \(store): CONIFER_SEED=\(seed) CONIFER_PROGRAMS=1")
      if !faults.isEmpty { return }
    }
  }
}

/// One random program.
private final class TwoClients {
  private let world: World
  private let devices: [Device]
  private var random: Seeded
  private let store: Store
  private var watchers: [Watcher] = []
  private var written: [(device: Device, path: Path, receipt: WriteReceipt)] = []
  private var faults: [String] = []
  private var number = 0
  private var increments = 0
  private var refusals = 0

  init(_ seed: UInt64, _ store: Store) throws {
    random = Seeded(state: seed)
    self.store = store
    world = try World(seed: seed)
    devices = [world.device(store), world.device(store, isOnline: false)]
  }

  func run() async throws -> [String] {
    for _ in 0..<80 {
      let device = devices[pick(2)]
      for _ in 0..<(pick(4) == 0 ? 3 : 1) { await step(device) }
      // One client at a time, so that a seed always gives the same, unless races are looked for.
      if !Self.isRacing { await device.idle() }
      if pick(2) == 0 { await deliver(pick(6)) }
    }
    await rest()
    try await check()
    return faults
  }

  /// With `CONIFER_TRACE` set, tells what is done and delivered.
  private static let isTracing = ProcessInfo.processInfo.environment["CONIFER_TRACE"] != nil

  private static let isRacing = ProcessInfo.processInfo.environment["CONIFER_RACE"] != nil

  private func trace(_ words: String) {
    guard Self.isTracing else { return }
    print(words)
    for (index, device) in devices.enumerated() {
      device.transport.watch { print("device \(index): \(Self.words($0))") }
    }
  }

  private static func words(_ delivered: InProcessTransport.Delivered) -> String {
    func text(_ changes: [NodeChange]) -> String {
      changes.map { "\($0.path) \($0.node.text)" }.joined(separator: ", ")
    }
    switch delivered {
    case .toServer(.request(let number, .put(let path, let node, let hash))):
      return "\(number) put \(path) \(node.text) \(hash ?? "")"
    case .toServer(.request(let number, .merge(let path, let changes))):
      return "\(number) merge \(path) \(text(changes))"
    case .toClient(.push(.overwrite(let path, let node, let tag))):
      return "overwrite \(path) \(node.text) \(tag.map { "tag \($0)" } ?? "")"
    case .toClient(.push(.merge(let path, let changes, let tag))):
      return "merge \(path) \(text(changes)) \(tag.map { "tag \($0)" } ?? "")"
    default: return "\(delivered)"
    }
  }

  private func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private var place: Path {
    let rooms = ["a", "b"], keys = ["1", "2", "3", "k", "m"]
    switch pick(6) {
    case 0: return Path(rooms[pick(2)])
    case 1: return Path("\(rooms[pick(2)])/\(keys[pick(5)])/x")
    default: return Path("\(rooms[pick(2)])/\(keys[pick(5)])")
    }
  }

  private func step(_ device: Device) async {
    number += 1
    let kind = pick(25)
    trace("\(number): step \(kind) of device \(device === devices[0] ? 0 : 1)")
    switch kind {
    case 23:
      device.set(Path("\(["a", "b"][pick(2)])/\(["1", "k"][pick(2)])/.priority"), "\(pick(4))")
    case 24: device.set(place, #"{".value":\#(pick(5)),".priority":"p\#(pick(3))"}"#)
    case 0...4: device.set(place, "\(number)")
    case 5: device.set(place, "null")
    case 6: device.set(place, #"{"x":\#(number),"y":{"z":\#(pick(3))}}"#)
    case 7: device.update(["a", "b"][pick(2)], [("1", "\(number)"), ("k/x", "\(pick(3))")])
    case 8, 9:
      // A place that nobody else writes: it must be there in the end.
      let path = Path("own/w\(number)")
      written.append((device, path, device.set(path, "\(number)")))
    case 10: device.add(1, at: "count", "t\(number)", raisesLocalEvents: pick(2) == 0)
    case 20:
      increments += 1
      device.set("own/increments", #"{".sv":{"increment":1}}"#)
    case 21:
      refusals += 1
      device.transport.refuse(next: 1)
    case 22: device.get("g", QueryTarget(place))
    case 11: device.engine.goOffline()
    case 12, 13: device.engine.goOnline()
    case 14: device.transport.disconnect(serverNotices: pick(2) == 0)
    case 15: device.transport.loseAnswer()
    case 16: device.clock.jump(by: Int64(pick(20_000)) - 10_000)
    case 17: await world.passQuietly(Int64(pick(5_000)))
    case 18: watch(device)
    default:
      guard store != .memory else { return watch(device) }
      for watcher in watchers where watcher.owner == ObjectIdentifier(device) {
        faults += watcher.close()
      }
      watchers.removeAll { $0.owner == ObjectIdentifier(device) }
      await device.restart(isOnline: pick(2) == 0)
    }
  }

  private func watch(_ device: Device) {
    let room = Path(["a", "b", "own"][pick(3)])
    var spec = QuerySpec.default
    do throws(TreeError) {
      switch pick(8) {
      case 4: spec = try spec.ordered(byChild: "x").starting(at: 3).limited(toFirst: 2)
      case 5: spec = try spec.ordered(by: .key).ending(at: .string("3"))
      case 6: spec = try spec.ordered(by: .value)
      case 7: spec = try spec.starting(at: 1).limited(toLast: 2)
      case 0: spec = try spec.limited(toLast: 1 + pick(3))
      case 1: spec = try spec.ordered(by: .value).limited(toFirst: 1 + pick(3))
      default: break
      }
    } catch { faults.append("\(error)") }
    watchers.append(Watcher(device, QueryTarget(room, spec)))
  }

  private func deliver(_ count: Int) async {
    for _ in 0..<count {
      for device in devices { await device.idle() }
      if !world.pump.step() { return }
    }
  }

  /// Connects everybody and lets everything be delivered.
  private func rest() async {
    trace("rest")
    for device in devices {
      device.transport.loseAnswers(next: 0)
      device.engine.goOnline()
      if !Self.isRacing { await device.idle() }
    }
    await world.settle()
    for _ in 0..<6 { await world.pass(31_000) }
  }

  private func check() async throws {
    for watcher in watchers { faults += watcher.check(world.data(watcher.target.path)) }
    for (device, path, receipt) in written where world.data(path).isEmpty {
      guard let id = try await receipt.id else { continue }
      let outcome = try await device.engine.outcome(of: id)
      if case .rejected = outcome { continue }
      faults.append("the write to \(path) is lost; \(outcome)")
    }
    checkTransactions()
    if store != .memory { await checkStored() }
    for (index, device) in devices.enumerated() {
      let queue = try await device.queued().filter {
        if case .rejected = $0.state { false } else { true }
      }
      if !queue.isEmpty { faults.append("device \(index) still has \(queue)") }
      let whole = Watcher(device, QueryTarget(.root))
      await world.settle()
      faults += whole.check(world.data).map { "device \(index): \($0)" }
    }
    // What is stored is what is shown; refused writes are not.
    guard store != .memory else { return }
    for (index, device) in devices.enumerated() {
      await device.restart(isOnline: false)
      let whole = Watcher(device, QueryTarget(.root))
      await world.settle()
      faults += whole.check(world.data).map { "device \(index), restarted: \($0)" }
    }
  }
}

extension TwoClients {
  /// What was listened to at rest is shown offline after a restart.
  private func checkStored() async {
    for (index, device) in devices.enumerated() {
      let targets = Set(
        watchers.filter { $0.owner == ObjectIdentifier(device) }.map(\.target))
      await device.restart(isOnline: false)
      trace("stored on device \(index): \(targets)")
      let again = targets.map { Watcher(device, $0) }
      await world.settle()
      for watcher in again {
        faults += watcher.check(world.data(watcher.target.path)).map {
          "device \(index), stored: \($0)"
        }
      }
      device.engine.goOnline()
      await world.settle()
    }
    watchers = []
  }

  /// Each transaction counted once if it was committed, and at most once if nobody knows; each
  /// increment at least once.
  private func checkTransactions() {
    let told = devices.flatMap(\.lines.history).filter { $0.hasPrefix("t") }
    let committed = told.count { $0.contains(" committed ") }
    let unknown = told.count { $0.contains(" outcome-unknown ") }
    let count = Int(world.data("count").leaf?.number ?? 0)
    if count < committed || count > committed + unknown {
      faults.append(
        "\(committed) transactions are committed, \(unknown) unknown, and \(count) counted")
    }
    let sum = Int(world.data("own/increments").leaf?.number ?? 0)
    if sum < increments - refusals { faults.append("\(increments) increments give \(sum)") }
  }
}

extension World {
  /// Lets time pass without delivering anything.
  func passQuietly(_ milliseconds: Int64) async {
    for device in devices {
      device.clock.advance(by: milliseconds)
      await device.idle()
    }
  }
}

/// A listener that keeps a copy of its view by the events, and notes those that make no sense.
private final class Watcher: Sendable {
  private struct State {
    var children: [Key: Node] = [:]
    var value: Node?
    var faults: [String] = []
  }

  let owner: ObjectIdentifier
  let target: QueryTarget
  private let state = Mutex(State())
  private static let last = Atomic<UInt64>(1_000_000)

  init(_ device: Device, _ target: QueryTarget) {
    owner = ObjectIdentifier(device)
    self.target = target
    let number = Self.last.add(1, ordering: .relaxed).newValue
    device.engine.observe(ListenerID(rawValue: number), target, .all) { [weak self] in
      self?.take($0)
    } cancel: { [weak self] error in
      self?.state.withLock { $0.faults.append("cancelled: \(error)") }
    }
  }

  private func take(_ event: DataEvent) {
    state.withLock { state in
      let key = event.key ?? ""
      let old = state.children[key]
      switch event.kind {
      case .childAdded:
        if old != nil { state.faults.append("\(target): added \(key) twice") }
        state.children[key] = event.node
      case .childChanged, .childMoved:
        if old == nil { state.faults.append("\(target): changed \(key), which is not there") }
        state.children[key] = event.node
      case .childRemoved:
        if old == nil { state.faults.append("\(target): removed \(key), which is not there") }
        state.children[key] = nil
      case .value:
        state.value = event.node
        let copy = Node(children: state.children.map { ($0.key, $0.value) })
        if !event.node.isLeaf, copy.text != event.node.settingPriority(nil).text {
          state.faults.append("\(target): value \(event.node.text), by its events \(copy.text)")
        }
      }
    }
  }

  /// What made no sense, and whether the view is not what the server's data gives.
  func check(_ data: Node) -> [String] {
    state.withLock { state in
      let wanted = target.spec.filtered(data)
      guard let value = state.value else { return state.faults + ["\(target): no value"] }
      if value.text == wanted.text { return state.faults }
      return state.faults + ["\(target): \(value.text), the server has \(wanted.text)"]
    }
  }

  func close() -> [String] { state.withLock { $0.faults } }
}
