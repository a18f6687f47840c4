import ConiferServer
import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// A database waits for its queue to be empty, as long as it has time.
@Suite struct DrainTests {
  private func deadline(_ device: Device, in milliseconds: Int64) -> Date {
    Date(timeIntervalSince1970: Double(device.clock.wallTime + milliseconds) / 1000)
  }

  /// Begins to wait; the engine knows of it when this returns.
  private func drain(
    _ device: Device, until deadline: Date
  ) async throws -> Task<PendingWriteTotals, any Error> {
    let engine = device.engine
    let ended = Gathered<Bool>()
    let task = Task {
      defer { ended.add(true) }
      return try await engine.drain(until: deadline.timeIntervalSince1970)
    }
    try await eventually("Nobody waits.") {
      let count = await engine.ask { $0.drains.count }
      return count > 0 || !ended.all.isEmpty
    }
    return task
  }

  @Test(arguments: Store.allCases)
  func `It returns when the server has answered all writes`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    for number in 0..<10 { device.set(Path("k\(number)"), "1") }
    let task = try await drain(device, until: .distantFuture)
    await world.waitUntilIdle()
    #expect(try await task.value == PendingWriteTotals())
    #expect(world.data.childCount == 10)
    // Nothing waits: it returns at once.
    #expect(
      try await device.engine.drain(until: Date.distantFuture.timeIntervalSince1970)
        == PendingWriteTotals())
  }

  @Test(arguments: Store.allCases)
  func `At the deadline it tells what is left`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    for number in 0..<10 { device.set(Path("k\(number)"), "1") }
    let task = try await drain(device, until: deadline(device, in: 30_000))
    device.clock.advance(by: 29_999)
    #expect(await device.engine.ask { $0.drains.count } == 1)
    device.clock.advance(by: 1)
    let left = try await task.value
    #expect(left.pending == 10 && left.bytes > 0)
    // Its time is over already.
    let passed = deadline(device, in: -1).timeIntervalSince1970
    #expect(try await device.engine.drain(until: passed).pending == 10)
  }

  @Test func `A database that is suspended or closed meanwhile tells what is left`() async throws {
    let world = try World()
    let device = world.device(.memory, isOnline: false)
    device.set("a", "1")
    let first = try await drain(device, until: .distantFuture)
    try await device.engine.suspend()
    #expect(try await first.value.pending == 1)
    try await device.engine.resume()
    let second = try await drain(device, until: .distantFuture)
    await device.engine.close()
    #expect(try await second.value.pending == 1)
    await #expect(throws: DatabaseError.self) { try await device.engine.drain(until: .infinity) }
  }

  @Test(arguments: Store.allCases)
  func `Writes that wait for the token provider are waited for, and count`(
    _ store: Store
  ) async throws {
    let world = try World(ServerConfiguration(authenticator: SignIn.table(["alice"])))
    let signIn = SignIn("alice")
    let device = world.device(store) { $0.tokenProvider = signIn }
    await world.waitUntilIdle()
    signIn.fail()
    device.engine.refreshToken()
    await world.waitUntilIdle()
    for number in 0..<300 { device.set(Path("k\(number)"), "1") }
    let first = try await drain(device, until: deadline(device, in: 100))
    #expect(await device.engine.ask { $0.drains.count } == 1)
    device.clock.advance(by: 100)
    #expect(try await first.value == PendingWriteTotals(pending: 300))
    let second = try await drain(device, until: .distantFuture)
    signIn.recover()
    device.engine.refreshToken()
    await world.waitUntilIdle()
    #expect(try await second.value == PendingWriteTotals())
    #expect(world.data.childCount == 300)
  }

  /// Nothing is said of a queue while nobody knows whose it is.
  @Test(arguments: Store.allCases)
  func `The deadline holds while the token provider is asked`(_ store: Store) async throws {
    let world = try World(ServerConfiguration(authenticator: SignIn.table(["alice"])))
    let signIn = SignIn("alice")
    signIn.hold()
    let device = world.device(store) { $0.tokenProvider = signIn }
    await signIn.waits(for: 1)
    let first = try await drain(device, until: deadline(device, in: 100))
    #expect(await device.engine.ask { $0.drains.count } == 1)
    device.clock.advance(by: 100)
    #expect(try await first.value == PendingWriteTotals())
    device.set("a", "1")
    let second = try await drain(device, until: .distantFuture)
    signIn.releaseAll()
    await world.waitUntilIdle()
    #expect(try await second.value == PendingWriteTotals())
    #expect(world.data("a") == 1)
  }

  @Test func `Who is cancelled waits no longer`() async throws {
    let world = try World()
    let device = world.device(.memory, isOnline: false)
    device.set("a", "1")
    let task = try await drain(device, until: .distantFuture)
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? DatabaseError)?.code == .cancelled }
    #expect(await device.engine.ask { $0.drains.count } == 0)
  }
}
