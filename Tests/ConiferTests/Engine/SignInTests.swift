import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Testing

@testable import Conifer
@testable import ConiferSync

/// What an app does right after somebody signed in or out, before its token provider has answered.
@Suite struct SignInTests {
  /// A device of somebody, the server that knows its users, and who wrote there.
  struct Setting {
    let world: World
    let device: Device
    let signIn: SignIn
    let writers: Writers

    /// Tells the database that somebody else is signed in, or says nothing of that.
    func signs(in user: String?) {
      signIn.set(user)
      device.engine.refreshToken()
    }
  }

  func setting(
    _ store: Store, isOnline: Bool = true, _ user: String? = nil, readers: [Path: String] = [:],
    isStarting: Bool = false, holds: Bool = false
  ) async throws -> Setting {
    let writers = Writers(readers: readers)
    let world = try World(
      ServerConfiguration(
        authenticator: SignIn.table(["alice", "bob", "carol"]), rules: writers))
    let signIn = SignIn(user)
    if holds { signIn.hold() }
    let device = world.device(store, isOnline: isOnline) { $0.tokenProvider = signIn }
    if !isStarting { await world.waitUntilIdle() }
    return Setting(world: world, device: device, signIn: signIn, writers: writers)
  }

  /// Who was signed in before.
  enum Before: String, CaseIterable, Sendable {
    /// Nobody knows, as the app just starts.
    case start
    case nobody
    case alice

    var user: String? { self == .alice ? "alice" : nil }
  }

  @Test(arguments: Store.allCases, Before.allCases)
  func `What follows a sign-in is the new user's, whoever was signed in before`(
    _ store: Store, _ before: Before
  ) async throws {
    for isOnline in [true, false] {
      for user in ["bob", nil] {
        let setting = try await setting(
          store, isOnline: isOnline, before.user, isStarting: before == .start)
        let (world, device) = (setting.world, setting.device)
        device.listenToValue("profile", QueryTarget("profile"))
        await world.waitUntilIdle()
        _ = device.lines.take()
        await device.atOnce { [lines = device.lines, engine = device.engine] in
          setting.signs(in: user)
          engine.onDisconnect(.put("presence", json("false"))) { error in
            lines.add("presence \(error.map { "\($0.code)" } ?? "done")")
          }
          device.set("profile", "1", "profile")
          device.add(1, at: "count", "count")
          device.get("get", QueryTarget("profile"))
        }
        await world.waitUntilIdle()
        #expect(try await device.queued().allSatisfy { $0.id.identity == user ?? "" })
        #expect(device.lines.all.contains("profile value 1"))
        device.engine.goOnline()
        await world.waitUntilIdle()
        let told = device.lines.take()
        for line in ["presence done", "profile done", "count committed 1", "get got 1"] {
          #expect(told.contains(line), "\(before) \(isOnline) \(user ?? "nobody"): \(told)")
        }
        device.transport.disconnect()
        await world.waitUntilIdle()
        let name = user ?? "nobody"
        // The rules are asked for an onDisconnect twice.
        #expect(
          Set(setting.writers.all) == [
            "\(name) /count", "\(name) /presence", "\(name) /profile",
          ])
      }
    }
  }

  @Test(arguments: Store.allCases)
  func `A sign-in is in line with writes of other threads`(_ store: Store) async throws {
    let setting = try await setting(store)
    let (world, device) = (setting.world, setting.device)
    let users = ["alice", "bob", nil, "carol"]
    var ids: [WriteReceipt.ID?] = []
    for number in 0..<24 {
      setting.signs(in: users[number % users.count])
      let receipt = await withCheckedContinuation { continuation in
        let engine = device.engine
        Thread.detachNewThread {
          let write = LocalWrite.set(Path("own/w\(number)"), json("1"))
          continuation.resume(returning: engine.write(write, completion: nil))
        }
      }
      ids.append(try await receipt.id)
    }
    #expect(ids.map { $0?.identity } == (0..<24).map { users[$0 % users.count] ?? "" })
    for user in users {
      setting.signs(in: user)
      await world.waitUntilIdle()
    }
    let wanted = (0..<24).map { "\(users[$0 % users.count] ?? "nobody") /own/w\($0)" }
    #expect(setting.writers.all.sorted() == wanted.sorted())
  }

  @Test(arguments: [[0, 0, 0], [2, 0, 0], [1, 0, 0], [2, 1, 0]])
  func `Of several sign-ins the last one's answer counts, in whatever order they come`(
    _ order: [Int]
  ) async throws {
    let setting = try await setting(.memory, "alice")
    let (device, signIn) = (setting.device, setting.signIn)
    signIn.hold()
    for (index, user) in [nil, "bob", "carol"].enumerated() {
      setting.signs(in: user)
      await signIn.waits(for: index + 1)
    }
    let write = device.set("profile", "1")
    var isAnswered = false
    var left = [0, 1, 2]
    for index in order {
      #expect(try await device.stored() == 0)
      isAnswered = left.remove(at: index) == 2 || isAnswered
      signIn.release(index)
      if isAnswered { break }
    }
    #expect(try await write.id?.identity == "carol")
    while signIn.held > 0 { signIn.release() }
    await setting.world.waitUntilIdle()
    #expect(setting.writers.all == ["carol /profile"])
    #expect(device.engine.authState.current == .signedIn(identity: "carol"))
  }

  @Test(arguments: Store.allCases, [true, false])
  func `An answer from before a sign-in does not let what waits go as nobody's`(
    _ store: Store, _ isOnline: Bool
  ) async throws {
    let setting = try await setting(store, isOnline: isOnline, isStarting: true, holds: true)
    let (device, signIn) = (setting.device, setting.signIn)
    await signIn.waits(for: 1)
    let early = device.set("early", "1")
    setting.signs(in: "alice")
    await signIn.waits(for: 2)
    let late = device.set("late", "1")
    signIn.release()
    for _ in 0..<20 { #expect(try await device.stored() == 0) }
    signIn.release()
    #expect(try await early.id?.identity == "alice")
    #expect(try await late.id?.identity == "alice")
    device.engine.goOnline()
    signIn.stopHolding()
    while signIn.held > 0 { signIn.release() }
    await setting.world.waitUntilIdle()
    #expect(setting.writers.all == ["alice /early", "alice /late"])
  }

  @Test(arguments: Store.allCases, [true, false])
  func `While the provider fails after a sign-in writes wait, and reads go on`(
    _ store: Store, _ isOnline: Bool
  ) async throws {
    let setting = try await setting(store, isOnline: isOnline, "alice")
    let (world, device) = (setting.world, setting.device)
    world.serverSets("v", "7")
    setting.signIn.fail()
    device.engine.refreshToken()
    let write = device.set("profile", "1")
    device.get("get", QueryTarget("v"))
    await world.waitUntilIdle()
    await world.pass(4_000)
    #expect(try await device.queued().isEmpty && setting.writers.all.isEmpty)
    #expect(device.lines.take() == [isOnline ? "get got 7" : "get disconnected"])
    guard case .expired(_, let error) = device.engine.authState.current else {
      Issue.record("the app is not told: \(device.engine.authState.current)")
      return
    }
    #expect(error.code == .unavailable)
    setting.signIn.set("bob")
    for _ in 0..<3 { await world.pass(31_000) }
    #expect(try await write.id?.identity == "bob")
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(setting.writers.all == ["bob /profile"])
  }

  @Test(arguments: [true, false])
  func `A provider that takes longer than it may is heard all the same`(
    _ isOnline: Bool
  ) async throws {
    let setting = try await setting(.memory, isOnline: isOnline, "alice")
    let (world, device, signIn) = (setting.world, setting.device, setting.signIn)
    signIn.hold()
    setting.signs(in: "bob")
    await signIn.waits(for: 1)
    let write = device.set("profile", "1")
    for _ in 0..<5 {
      await world.pass(31_000)
      #expect(try await device.stored() == 0)
    }
    #expect(device.engine.authState.current.isPaused && signIn.held > 1)
    signIn.release()
    #expect(try await write.id?.identity == "bob")
    signIn.stopHolding()
    while signIn.held > 0 { signIn.release() }
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(setting.writers.all == ["bob /profile"])
    #expect(device.engine.authState.current == .signedIn(identity: "bob"))
  }

  @Test(arguments: [true, false])
  func `What was asked for before a sign-in goes on if it is the same user, else it is not done`(
    _ isSame: Bool
  ) async throws {
    let setting = try await setting(.memory, "alice")
    let (world, device) = (setting.world, setting.device)
    device.engine.goOffline()
    device.set("profile", "1", "profile")
    device.add(1, at: "count", "count")
    device.engine.onDisconnect(.put("presence", json("false"))) { [lines = device.lines] error in
      lines.add("presence \(error.map { "\($0.code)" } ?? "done")")
    }
    await world.waitUntilIdle()
    setting.signs(in: isSame ? "alice" : "bob")
    await world.waitUntilIdle()
    device.engine.goOnline()
    await world.waitUntilIdle()
    let told = Set(device.lines.take())
    if isSame {
      #expect(told == ["profile done", "count committed 1", "presence done"])
    } else {
      #expect(told == ["count write-canceled null", "presence write-canceled"])
      setting.signs(in: "alice")
      await world.waitUntilIdle()
      #expect(device.lines.take() == ["profile done"])
    }
    device.transport.disconnect()
    await world.waitUntilIdle()
    #expect(setting.writers.all.allSatisfy { $0.hasPrefix("alice ") })
    #expect(Set(setting.writers.all).count == (isSame ? 3 : 1))
  }

  @Test func `What is read right after a sign-in is read as the new user`() async throws {
    let setting = try await setting(.memory, "alice", readers: ["private": "bob"])
    let (world, device) = (setting.world, setting.device)
    world.serverSets("private", "7")
    await device.atOnce {
      setting.signs(in: "bob")
      device.listenToValue("listener", QueryTarget("private"))
      device.get("get", QueryTarget("private"))
    }
    await world.waitUntilIdle()
    #expect(Set(device.lines.take()) == ["listener value 7", "get got 7"])
  }

  @Test func `A database that is closed says so to what waits for a sign-in`() async throws {
    let setting = try await setting(.memory, "alice")
    setting.signIn.hold()
    setting.signs(in: "bob")
    await setting.signIn.waits(for: 1)
    setting.device.set("profile", "1", "profile")
    let engine = setting.device.engine
    let totals = Task { await failure { _ = try await engine.writeTotals() } }
    try await setting.device.waits(for: 2)
    await engine.close()
    #expect(await totals.value?.code == .closed)
    await withCheckedContinuation { continuation in
      setting.device.queue.async { continuation.resume() }
    }
    #expect(setting.device.lines.take() == ["profile closed"])
    setting.signIn.release()
  }
}
