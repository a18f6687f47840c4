import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Foundation
import Testing

@testable import Conifer
@testable import ConiferSync

/// What waits, and what is known, until the token provider has answered or while it fails.
extension SignInTests {
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
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["profile got 1"])
    device.engine.goOnline()
    await world.waitUntilIdle()
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
    await world.waitUntilIdle()
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
    await world.waitUntilIdle()
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
      await world.waitUntilIdle()
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
    await setting.world.waitUntilIdle()
    device.set("profile", "1", "profile")
    #expect(try await device.stored() == 0)
    signIn.recover()
    for _ in 0..<3 { await setting.world.pass(31_000) }
    #expect(try await device.queued().map(\.id.identity) == ["bob"])
  }
}
