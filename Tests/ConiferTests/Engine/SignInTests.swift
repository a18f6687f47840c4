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
  private struct Setting {
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

  private func setting(
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
    if !isStarting { await world.settle() }
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
        await world.settle()
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
        await world.settle()
        #expect(try await device.queued().allSatisfy { $0.id.identity == user ?? "" })
        #expect(device.lines.all.contains("profile value 1"))
        device.engine.goOnline()
        await world.settle()
        let told = device.lines.take()
        for line in ["presence done", "profile done", "count committed 1", "get got 1"] {
          #expect(told.contains(line), "\(before) \(isOnline) \(user ?? "nobody"): \(told)")
        }
        device.transport.disconnect()
        await world.settle()
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
      await world.settle()
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
    await setting.world.settle()
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
    await setting.world.settle()
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
    await world.settle()
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
    await world.settle()
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
    await world.settle()
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
    await world.settle()
    setting.signs(in: isSame ? "alice" : "bob")
    await world.settle()
    device.engine.goOnline()
    await world.settle()
    let told = Set(device.lines.take())
    if isSame {
      #expect(told == ["profile done", "count committed 1", "presence done"])
    } else {
      #expect(told == ["count write-canceled null", "presence write-canceled"])
      setting.signs(in: "alice")
      await world.settle()
      #expect(device.lines.take() == ["profile done"])
    }
    device.transport.disconnect()
    await world.settle()
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
    await world.settle()
    #expect(Set(device.lines.take()) == ["listener value 7", "get got 7"])
  }

  @Test(arguments: Before.allCases, [true, false])
  func `A read waits behind a write for the provider no longer than it may`(
    _ before: Before, _ isOnline: Bool
  ) async throws {
    let isStarting = before == .start
    let setting = try await setting(
      .memory, isOnline: isOnline, before.user, isStarting: isStarting, holds: isStarting)
    let (world, device, signIn) = (setting.world, setting.device, setting.signIn)
    signIn.hold()
    if !isStarting { setting.signs(in: "bob") }
    signIn.set("bob")
    await signIn.waits(for: 1)
    let write = device.set("profile", "1")
    device.get("get", QueryTarget("v"))
    await world.pass(2_000)
    device.get("later", QueryTarget("v"))
    await world.pass(900)
    #expect(device.lines.take() == [])
    await world.pass(100)
    #expect(device.lines.take() == ["get disconnected"])
    await world.pass(1_900)
    #expect(device.lines.take() == [])
    await world.pass(100)
    #expect(device.lines.take() == ["later disconnected"])
    // The write waits on, and a read that may still wait is given what it writes.
    device.get("profile", QueryTarget("profile"))
    await world.pass(1_000)
    if isStarting {
      signIn.stopHolding()
      device.engine.refreshToken()
    }
    signIn.releaseAll()
    #expect(try await write.id?.identity == "bob")
    await world.settle()
    #expect(device.lines.take() == ["profile got 1"])
    device.engine.goOnline()
    await world.settle()
    #expect(setting.writers.all == ["bob /profile"])
  }

  @Test(arguments: Store.durable)
  func `A token whose time is over names its user offline, and what is written is kept`(
    _ store: Store
  ) async throws {
    let setting = try await setting(store, "alice")
    let (world, device, signIn) = (setting.world, setting.device, setting.signIn)
    device.engine.goOffline()
    signIn.set(AuthToken("bob's of yesterday", identity: "bob", expiry: 1))
    device.listenToValue("v", QueryTarget("v"))
    device.engine.refreshToken()
    let first = device.set("v", "1")
    await device.idle()
    #expect(device.lines.take() == ["v value 1"])
    #expect(try await first.id?.identity == "bob")
    _ = try await first.durable
    // The next launch, offline too.
    await device.restart(isOnline: false)
    device.engine.refreshToken()
    device.listenToValue("v", QueryTarget("v"))
    let second = device.set("w", "2")
    _ = try await second.durable
    device.get("get", QueryTarget("v"))
    await device.idle()
    #expect(try await device.queued().map(\.id.identity) == ["bob", "bob"])
    #expect(Set(device.lines.take()).isSuperset(of: ["v value 1", "get got 1"]))
    // The server does not take it, and there is no other: what waits goes on waiting.
    device.engine.goOnline()
    await world.settle()
    await world.pass(31_000)
    #expect(setting.writers.all.isEmpty && device.engine.authState.current.isPaused)
    signIn.set("bob")
    for _ in 0..<3 { await world.pass(31_000) }
    #expect(setting.writers.all == ["bob /v", "bob /w"])
  }

  @Test(arguments: Store.allCases, [true, false])
  func `Right after a sign-in the queue is the new user's, with what was just written`(
    _ store: Store, _ isOnline: Bool
  ) async throws {
    let setting = try await setting(store, isOnline: isOnline, "alice")
    let (world, device, signIn) = (setting.world, setting.device, setting.signIn)
    device.transport.intercept { request in
      if case .put = request { Response(.permissionDenied) } else { nil }
    }
    // What alice wrote waits offline, or for the app once it was refused.
    let old = device.set("old", "1")
    let id = try #require(try await old.id)
    await world.settle()
    signIn.hold()
    setting.signs(in: "bob")
    await signIn.waits(for: 1)
    device.engine.goOffline()
    device.set("new", "1")
    let engine = device.engine
    async let pending = engine.writes(after: nil, limit: 10, rejectedOnly: false)
    async let totals = engine.writeTotals()
    try await device.waits(for: 3)
    #expect(try await device.stored() == (isOnline ? 0 : 1))
    signIn.releaseAll()
    #expect(try await pending.map(\.id.identity) == ["bob"])
    let sums = try await totals
    #expect(sums.pending == 1 && sums.rejected == 0)
    // The way back: what the app says of a write of its own is taken at once.
    signIn.hold()
    setting.signs(in: "alice")
    await signIn.waits(for: 1)
    async let discarded: Void = engine.discard(id)
    try await device.waits(for: 1)
    signIn.releaseAll()
    try await discarded
    #expect(try await device.queued().isEmpty)
  }

  @Test func `While the provider fails the queue is that of the user before, and is told`()
    async throws
  {
    let setting = try await setting(.memory, isOnline: false, "alice")
    let id = try #require(try await setting.device.set("old", "1").id)
    setting.signIn.hold()
    setting.signIn.fail()
    setting.device.engine.refreshToken()
    await setting.signIn.waits(for: 1)
    setting.device.set("new", "1")
    let engine = setting.device.engine
    async let pending = engine.writes(after: nil, limit: 10, rejectedOnly: false)
    try await setting.device.waits(for: 2)
    setting.signIn.releaseAll()
    #expect(try await pending.map(\.id) == [id])
  }

  @Test(arguments: Store.durable, ["bob", "alice", nil])
  func
    `A sign-in that nobody has answered is asked for again at the next start, however the app ended`(
      _ store: Store, _ user: String?
    ) async throws
  {
    for (isOnline, fails) in [(true, false), (true, true), (false, false), (false, true)] {
      let setting = try await setting(store, "alice")
      let (world, device, signIn) = (setting.world, setting.device, setting.signIn)
      signIn.hold()
      setting.signs(in: user)
      await signIn.waits(for: 1)
      if fails { signIn.fail() }
      for _ in 0..<2 {
        await device.restart(isOnline: isOnline)
        // What the run before asked is answered to nobody.
        signIn.release()
        await signIn.waits(for: 1)
        let write = device.set("profile", "1")
        #expect(try await device.stored() == 0)
        guard !fails else { continue }
        signIn.releaseAll()
        #expect(try await write.id?.identity == user ?? "")
        break
      }
      if fails {
        // Kept from run to run, and never taken for anybody's.
        signIn.recover()
        signIn.releaseAll()
        for _ in 0..<3 { await world.pass(31_000) }
        #expect(try await device.queued().allSatisfy { $0.id.identity == user ?? "" })
      }
      device.engine.goOnline()
      await world.settle()
      #expect(Set(setting.writers.all) == ["\(user ?? "nobody") /profile"])
      // The next start knows its user again.
      await device.restart(isOnline: false)
      let write = device.set("profile", "2")
      #expect(try await write.id?.identity == user ?? "")
    }
  }

  @Test(arguments: Store.durable)
  func `A sign-in while the app's first answer is out is asked for again at the next start, too`(
    _ store: Store
  ) async throws {
    let setting = try await setting(store, isOnline: false, isStarting: true, holds: true)
    let (device, signIn) = (setting.device, setting.signIn)
    await signIn.waits(for: 1)
    setting.signs(in: "bob")
    await signIn.waits(for: 2)
    signIn.stopHolding()
    signIn.fail()
    await device.restart(isOnline: false)
    // What the run before asked is answered to nobody; while it is held, nothing here waits for answers.
    signIn.releaseAll()
    await setting.world.settle()
    device.set("profile", "1", "profile")
    #expect(try await device.stored() == 0)
    signIn.recover()
    for _ in 0..<3 { await setting.world.pass(31_000) }
    #expect(try await device.queued().map(\.id.identity) == ["bob"])
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
