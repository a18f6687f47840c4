import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation

@testable import Conifer
@testable import ConiferSync

/// Two clients and a server that do what a program says; at rest all must agree.
final class TwoClients {
  private let world: World
  private let devices: [Device]
  private let store: Store
  private let mode: Mode
  private var watchers: [Watcher] = []
  private var written: [OwnWrite] = []
  private let accounts = Accounts()
  private let signIns: [SignIn]
  /// Whether the database was told of a sign-in, and the provider had not said who it is.
  private var isEarly = [true, true]
  private var increments: [(device: Device, receipt: WriteReceipt)] = []
  /// Whether increments of unknown outcome are left to the app.
  private let leavesUnknown: Bool
  /// Whether something was purged.
  private var hasPurged = false
  /// Transactions of processes that were killed before the app was told.
  private var untold = 0
  private var begun: [Int] = [0, 0]
  private var faults: [String] = []

  /// How a program runs.
  struct Mode: Sendable {
    /// Whether the devices may be killed; their callbacks run on the engine's thread then.
    var canKill = false
    /// Whether the clients work at the same time, so that a seed gives no longer the same.
    var isRacing = false
    /// Whether all that is done and delivered is printed.
    var isTracing = false
  }

  init(_ seed: UInt64, _ store: Store, _ mode: Mode) throws {
    self.store = store
    self.mode = mode
    let leavesUnknown = seed % 3 == 0
    self.leavesUnknown = leavesUnknown
    let accounts = accounts
    let world = try World(
      seed: seed, ServerConfiguration(authenticator: accounts, rules: accounts))
    var signIns: [SignIn] = []
    self.world = world
    devices = [true, false].map { isOnline in
      world.device(store, isOnline: isOnline, canDie: mode.canKill) {
        // Of one of them the other sees only the last of several sets.
        $0.dropsSupersededWrites = isOnline != (seed % 2 == 0)
        $0.unknownOutcome = leavesUnknown ? .leaveToApp : .sendAgain
        let signIn = accounts.provider($0.clock)
        $0.tokenProvider = signIn
        signIns.append(signIn)
      }
    }
    self.signIns = signIns
  }

  /// Whether stores outlive their databases.
  private var isDurable: Bool { store != .memory || mode.canKill }

  /// Does the steps; what went wrong.
  func run(_ steps: [ProgramStep]) async throws -> [String] {
    var calls: [ProgramStep] = []
    for step in steps {
      if let first = calls.first, !step.isTogether || !step.isCall || first.device != step.device {
        await call(calls)
        calls = []
      }
      trace("\(step)")
      if step.isCall {
        calls.append(step)
      } else {
        await happen(step)
        if !mode.isRacing { await devices[step.device].idle() }
      }
      await bury()
      for index in devices.indices where isEarly[index] {
        isEarly[index] = await !devices[index].knowsUser()
      }
    }
    if !calls.isEmpty { await call(calls) }
    await bury()
    await rest()
    try await check()
    for device in devices { await device.engine.close() }
    return faults
  }

  // MARK: Steps

  /// Has the app do something: all of it before the engine takes up any.
  private func call(_ steps: [ProgramStep]) async {
    guard let device = steps.first.map({ devices[$0.device] }) else { return }
    for (place, write) in written.enumerated() where write.device === device && write.isEarly {
      written[place].isEarly = await !write.receipt.isQueued
    }
    await device.atOnce { for step in steps { self.call(step.action, on: step.device) } }
    // One client at a time, so that a seed always gives the same, unless races are looked for.
    if !mode.isRacing { await device.idle() }
    await bury()
  }

  private func call(_ action: ProgramStep.Action, on index: Int) {
    let device = devices[index]
    switch action {
    case .set(let path, let text): device.set(path, text)
    case .update(let path, let changes): device.update(path, changes)
    case .own(let number):
      let path = Path("own/w\(number)")
      accounts.give(path, to: signIns[index].user)
      written.append(
        OwnWrite(
          device: device, path: path, receipt: device.set(path, "\(number)"),
          users: [signIns[index].user ?? ""], isEarly: isEarly[index]))
    case .increment:
      increments.append(
        (device, device.set("own/increments", #"{".sv":{"increment":1}}"#)))
    case .add(let number, let isVisible):
      begun[index] += 1
      device.add(1, at: "count", "t\(number)", raisesLocalEvents: isVisible)
    case .get(let path): device.get("g", QueryTarget(path))
    case .watch(let target): watchers.append(Watcher(device, target))
    case .unwatch:
      let own = watchers.firstIndex { $0.owner == ObjectIdentifier(device) }
      guard let own else { return }
      let watcher = watchers.remove(at: own)
      device.engine.stopObserving(watcher.id)
      faults += watcher.faults
    case .pin(let path, let isPinned): device.engine.setPinned(isPinned, QueryTarget(path))
    case .onDisconnect(let path, let text):
      let operation = text.map { DisconnectRequest.put(path, json($0)) } ?? .cancel(path)
      device.engine.onDisconnect(operation, completion: nil)
    case .purge:
      hasPurged = true
      device.engine.purge()
    case .goOffline: device.engine.goOffline()
    case .goOnline: device.engine.goOnline()
    case .signIn(let user): signIn(user, on: index)
    case .confirm: refresh(index)
    default: break
    }
  }

  /// Somebody signs in. Until the provider has said so, what was written since the last time that it
  /// had is this user's, too.
  private func signIn(_ user: String?, on index: Int) {
    signIns[index].set(user)
    for (place, write) in written.enumerated()
    where write.device === devices[index] && write.isEarly {
      written[place].users.insert(user ?? "")
    }
    refresh(index)
  }

  private func refresh(_ index: Int) {
    isEarly[index] = true
    devices[index].engine.refreshToken()
  }

  private func happen(_ step: ProgramStep) async {
    let device = devices[step.device]
    switch step.action {
    case .refuseNext: device.transport.refuse(next: 1)
    case .disconnect(let serverNotices): device.transport.disconnect(serverNotices: serverNotices)
    case .loseAnswer: device.transport.loseAnswer()
    case .jump(let milliseconds): device.clock.jump(by: milliseconds)
    case .pass(let milliseconds): await world.passQuietly(milliseconds)
    case .restart(let isOnline):
      guard isDurable else { return }
      endWatchers(of: device)
      signIns[step.device].releaseAll()
      await device.restart(isOnline: isOnline)
      // The kept token may be another user's than who signed in last.
      refresh(step.device)
    case .kill(let isOnline):
      device.life.end()
      await bury(isOnline: isOnline)
    case .killLater(let commits, let doesLast):
      device.life.end(after: commits, doesLast: doesLast)
    case .deliver(let count):
      for _ in 0..<count {
        for device in devices { await device.idle() }
        await bury()
        if !world.pump.step() { return }
      }
      for device in devices { await device.idle() }
    case .failTokens(let fails):
      if fails { signIns[step.device].fail() } else { signIns[step.device].recover() }
    case .holdTokens: signIns[step.device].hold()
    case .answerToken(let isOldest):
      let signIn = signIns[step.device]
      if signIn.held > 0 { signIn.release(isOldest ? 0 : signIn.held - 1) }
    case .revoke:
      guard let user = signIns[step.device].user else { return }
      accounts.revoke(user)
      world.server.expireTokens(in: World.namespace)
    default: break
    }
  }

  /// Starts the next process of each device whose process was killed.
  private func bury(isOnline: Bool = true) async {
    for (index, device) in devices.enumerated() where device.life.isOver {
      endWatchers(of: device)
      trace("device \(index) was killed")
      signIns[index].releaseAll()
      await device.rise(isOnline: false)
      refresh(index)
      let own = Watcher(device, QueryTarget("own"))
      await device.idle()
      await checkOwn(device, own.value)
      device.engine.stopObserving(own.id)
      if isOnline { device.engine.goOnline() }
      await device.idle()
      // What of its transactions the server has, nobody was told.
      untold += begun[index] - told(device)
      begun[index] = told(device)
    }
  }

  private func endWatchers(of device: Device) {
    for watcher in watchers where watcher.owner == ObjectIdentifier(device) {
      faults += watcher.faults
    }
    watchers.removeAll { $0.owner == ObjectIdentifier(device) }
  }

  /// Connects everybody and lets everything be delivered.
  private func rest() async {
    trace("rest")
    for device in devices {
      device.life.spare()
      device.transport.loseAnswers(next: 0)
      device.engine.goOnline()
      if !mode.isRacing { await device.idle() }
    }
    for signIn in signIns {
      signIn.recover()
      signIn.releaseAll()
    }
    await world.waitUntilIdle()
    // What each user has queued is sent when that user is signed in.
    for user in Accounts.users.reversed() {
      for index in devices.indices { signIn(user, on: index) }
      for _ in 0..<3 { await world.pass(31_000) }
    }
    // The checks end connections, which is to change nothing.
    for device in devices { device.engine.onDisconnect(.cancel(.root), completion: nil) }
    await world.waitUntilIdle()
  }

  // MARK: Checks

  private func check() async throws {
    for watcher in watchers { faults += watcher.check(world.data(watcher.target.path)) }
    for write in written {
      let writers = accounts.writers(of: write.path)
      guard !writers.isSubset(of: write.users) else { continue }
      faults.append("\(write.path) of \(write.users) was written by \(writers)")
    }
    for write in written where world.data(write.path).isEmpty {
      let (device, path, receipt) = (write.device, write.path, write.receipt)
      guard let id = await id(of: receipt) else { continue }
      let outcome = try await device.engine.outcome(of: id)
      switch outcome {
      case .rejected: continue
      case .discarded where hasPurged: continue
      default: break
      }
      faults.append("the write to \(path) is lost; \(outcome)")
    }
    checkTransactions()
    try await checkIncrements()
    if isDurable { await checkStored() }
    for (index, device) in devices.enumerated() {
      let queue = try await device.queued().filter {
        if case .rejected = $0.state { false } else { true }
      }
      if !queue.isEmpty { faults.append("device \(index) still has \(queue)") }
      let whole = Watcher(device, QueryTarget(.root))
      await world.waitUntilIdle()
      faults += whole.check(world.data).map { "device \(index): \($0)" }
    }
    // What is stored is what is shown; refused writes are not.
    guard isDurable else { return }
    for (index, device) in devices.enumerated() {
      await device.restart(isOnline: false)
      let whole = Watcher(device, QueryTarget(.root))
      await world.waitUntilIdle()
      faults += whole.check(world.data).map { "device \(index), restarted: \($0)" }
    }
  }

  /// The write's identity. One that a killed process did not name is nobody's loss, nor one that waited
  /// for the user to be known when the database was closed: the app was told. Any other is a fault.
  private func id(of receipt: WriteReceipt) async -> WriteReceipt.ID? {
    do {
      return try await receipt.id
    } catch {
      if !mode.canKill, error.code != .closed { faults.append("a write was not queued: \(error)") }
      return nil
    }
  }

  /// What was listened to at rest is shown offline after a restart.
  private func checkStored() async {
    for (index, device) in devices.enumerated() {
      let targets = Set(
        watchers.filter { $0.owner == ObjectIdentifier(device) }.map(\.target))
      endWatchers(of: device)
      await device.restart(isOnline: false)
      trace("stored on device \(index): \(targets)")
      let again = targets.map { Watcher(device, $0) }
      let own = Watcher(device, QueryTarget("own"))
      await world.waitUntilIdle()
      await checkOwn(device, own.value)
      for watcher in again {
        faults += watcher.check(world.data(watcher.target.path)).map {
          "device \(index), stored: \($0)"
        }
      }
      device.engine.goOnline()
      await world.waitUntilIdle()
    }
    watchers = []
  }

  /// What a device wrote itself and nobody else did is not missing from what it takes for complete.
  private func checkOwn(_ device: Device, _ shown: Node?) async {
    guard let shown else { return }
    for write in written where write.device === device {
      let path = write.path
      guard let key = path.last, shown[key].isEmpty, let id = await id(of: write.receipt),
        let outcome = try? await device.engine.outcome(of: id), outcome == .acknowledged
      else { continue }
      faults.append("the cache was complete, and \(path) is missing")
    }
  }

  /// Each transaction counted once if it was committed, and at most once if nobody knows.
  private func checkTransactions() {
    let told = devices.flatMap(\.lines.history).filter { $0.hasPrefix("t") }
    let committed = told.count { $0.contains(" committed ") }
    // One that was purged may have been sent.
    let unknown = told.count {
      $0.contains(" outcome-unknown ") || hasPurged && $0.contains(" write-canceled ")
    }
    let count = Int(world.data("count").leaf?.number ?? 0)
    if count < committed || count > committed + unknown + untold {
      faults.append(
        "\(committed) transactions are committed, \(unknown + untold) unknown, and \(count) counted"
      )
    }
  }

  private func told(_ device: Device) -> Int {
    device.lines.history.count { $0.hasPrefix("t") }
  }

  /// Each increment that was queued and not refused counts, at least once; and at most once where
  /// those of unknown outcome are left to the app.
  private func checkIncrements() async throws {
    var least = 0
    for (device, receipt) in increments {
      guard let id = await id(of: receipt) else { continue }
      if case .acknowledged = try await device.engine.outcome(of: id) { least += 1 }
    }
    let sum = Int(world.data("own/increments").leaf?.number ?? 0)
    if sum < least || leavesUnknown && sum > increments.count {
      faults.append("\(least) increments of \(increments.count) give \(sum)")
    }
  }

  // MARK: Tracing

  private func trace(_ words: String) {
    guard mode.isTracing else { return }
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
