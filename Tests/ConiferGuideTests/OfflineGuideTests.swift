import Conifer
import ConiferServer
import ConiferStorage
import Foundation
import TestSupport
import Testing

/// Each section of "Offline capabilities on Apple platforms", run against a server.
@Suite(.serialized) struct `The guide to offline capabilities` {
  static let scores = [
    "lambeosaurus": 21, "linhenykus": 80, "bruhathkayosaurus": 55, "pterodactyl": 93,
    "stegosaurus": 5, "triceratops": 22,
  ]

  /// A world whose server has six scores.
  func scoreWorld(_ namespace: String) async throws -> (GuideWorld, Database) {
    let world = GuideWorld(namespace)
    let other = world.client()
    try await other.reference(withPath: "scores").setValue(Self.scores)
    return (world, other)
  }

  func line(_ name: String) -> String {
    "The \(name) dinosaur's score is \(Self.scores[name] ?? 0)"
  }

  @Test func `what was loaded and what was written is there after a restart without a network`()
    async throws
  {
    let world = GuideWorld("restart")
    let other = world.client()
    try await other.reference(withPath: "rooms/r1").setValue(["name": "Kitchen"])
    let device = try Device(world)
    let seen = Gathered<String>()
    device.database.reference(withPath: "rooms/r1").observe(.value) {
      seen.add($0.childSnapshot(forPath: "name").value as? String ?? "none")
    }
    #expect(await seen.wait { $0 == ["Kitchen"] })
    await device.restart(online: false)

    let again = Gathered<String>()
    let room = device.database.reference(withPath: "rooms/r1")
    room.observe(.value) {
      again.add($0.childSnapshot(forPath: "name").value as? String ?? "none")
    }
    #expect(await again.wait { $0 == ["Kitchen"] })
    let receipt = room.child("name").enqueue(.set("Attic"))
    #expect(await again.wait { $0 == ["Kitchen", "Attic"] })
    let id = try #require(try await receipt.id)
    _ = try await receipt.durable
    await device.restart(online: false)

    let later = Gathered<String>()
    device.database.reference(withPath: "rooms/r1/name").observe(.value) {
      later.add($0.value as? String ?? "none")
    }
    #expect(await later.wait { $0 == ["Attic"] })
    #expect(try await device.database.pendingWrites().map(\.id) == [id])
    await device.restart(online: true)
    #expect(try await device.database.outcome(of: id) == .acknowledged)
    let name = try await other.reference(withPath: "rooms/r1/name").getData()
    #expect(name.value as? String == "Attic")
    await device.database.close()
  }

  @Test func `persistence is one line, before the first use`() {
    let database = Database(DatabaseConfiguration(namespace: "line", storage: .memory))
    database.isPersistenceEnabled = true
    #expect(database.isPersistenceEnabled)
    _ = GuideApp.database
    OfflineSamples.keepScores()
    OfflineSamples.enablePersistence()
    #expect(!Database.database().isPersistenceEnabled)
  }

  @Test func `what is kept synced is downloaded without an observer, until that ends`() async throws
  {
    let (world, other) = try await scoreWorld("keep")
    let device = try Device(world)
    let scoresRef = device.database.reference(withPath: "scores")
    scoresRef.keepSynced(true)
    try await other.reference(withPath: "scores/new").setValue(7)
    // What is listened to is known here at once, so a read that stays offline finds it.
    #expect(
      await eventually {
        let told = Gathered<Int>()
        scoresRef.child("new").observeSingleEvent(of: .value) { told.add($0.value as? Int ?? 0) }
        return await eventually { !told.all.isEmpty } && told.all == [7]
      })
    await device.restart(online: false)
    let offline = device.database.reference(withPath: "scores")
    let all = Gathered<Int>()
    offline.observeSingleEvent(of: .value) { all.add(Int($0.childrenCount)) }
    #expect(await all.wait { $0 == [7] })
    OfflineSamples.dropScores(offline)
    await device.database.close()
  }

  @Test func `a smaller query offline gives its children and no value`() async throws {
    let (world, _) = try await scoreWorld("query")
    let device = try Device(world)
    let four = Gathered<String>()
    let online = device.database.reference(withPath: "scores")
    OfflineSamples.highScores(online, 4) { four.add($0) }
    let best = ["triceratops", "bruhathkayosaurus", "linhenykus", "pterodactyl"].map(line)
    #expect(await four.wait { $0.count == 4 })
    #expect(four.all == best)
    // The query is complete when its value has come.
    let complete = Gathered<UInt>()
    online.queryOrderedByValue().queryLimited(toLast: 4).observe(.value) {
      complete.add($0.childrenCount)
    }
    #expect(await complete.wait { $0.contains(4) })
    await device.restart(online: false)

    let two = Gathered<String>()
    let offline = device.database.reference(withPath: "scores")
    OfflineSamples.highScores(offline, 2) { two.add($0) }
    offline.queryOrderedByValue().queryLimited(toLast: 2).observe(.value) { _ in two.add("value") }
    #expect(await two.wait { $0.count == 2 })
    try await offline.child("unrelated").enqueue(.set(0)).id.map { _ in }
    #expect(two.all == Array(best.suffix(2)))

    let six = Gathered<String>()
    OfflineSamples.highScores(offline, 6) { six.add($0) }
    offline.queryOrderedByValue().queryLimited(toLast: 6).observe(.value) { _ in six.add("value") }
    #expect(await six.wait { $0.count >= 4 })
    #expect(!six.all.contains("value"))
    device.transport.isReachable = true
    device.database.goOffline()
    device.database.goOnline()
    #expect(await six.wait { $0.contains("value") && $0.count >= 7 })
    #expect(Set(best).isSubset(of: six.all))
    #expect(six.all.contains(line("lambeosaurus")))
    await device.database.close()
  }

  @Test func `a transaction offline shows at once and is sent when there is a connection`()
    async throws
  {
    let world = GuideWorld("transaction")
    let other = world.client()
    try await other.reference(withPath: "count").setValue(4)
    let device = world.client()
    let seen = Gathered<Int>()
    let count = device.reference(withPath: "count")
    count.observe(.value) { seen.add($0.value as? Int ?? 0) }
    #expect(await seen.wait { $0 == [4] })
    device.goOffline()
    let done = Gathered<Bool>()
    count.runTransactionBlock({ data in
      data.value = (data.value as? Int ?? 0) + 1
      return .success(withValue: data)
    }) { _, committed, _ in done.add(committed) }
    #expect(await seen.wait { $0 == [4, 5] })
    #expect(done.all.isEmpty)
    try await other.reference(withPath: "count").setValue(10)
    device.goOnline()
    #expect(await done.wait { $0 == [true] })
    #expect(try await other.reference(withPath: "count").getData().value as? Int == 11)
  }

  @Test func `a value is written when the connection ends, and not when that was cancelled`()
    async throws
  {
    let world = GuideWorld("presence")
    let other = world.client()
    let device = world.client()
    let message = device.reference(withPath: "disconnectmessage")
    try await message.setValue("here")
    try await message.onDisconnectSetValue("I disconnected!")
    let changed = device.reference(withPath: "changed")
    try await changed.setValue("stays")
    OfflineSamples.changeMind(changed)
    try await changed.cancelDisconnectOperations()
    let told = Gathered<String>()
    let gone = device.reference(withPath: "gone")
    try await gone.setValue(1)
    OfflineSamples.removeOnDisconnect(gone) { told.add($0) }
    #expect(await told.wait { $0 == ["established at gone"] })
    device.goOffline()
    #expect(
      await eventually {
        let snapshot = try? await other.reference(withPath: "disconnectmessage").getData()
        return snapshot?.value as? String == "I disconnected!"
      })
    #expect(try await other.reference(withPath: "changed").getData().value as? String == "stays")
    #expect(try await !other.reference(withPath: "gone").getData().exists())
  }

  @Test func `the connection's state is a place of the client's own`() async throws {
    let world = GuideWorld("state")
    let device = world.client()
    let told = Gathered<String>()
    OfflineSamples.watchConnection(device) { told.add($0) }
    #expect(await told.wait { $0.last == "Connected" })
    device.goOffline()
    #expect(await told.wait { $0.last == "Not connected" })
    device.goOnline()
    #expect(await told.wait { $0.suffix(2) == ["Not connected", "Connected"] })
    #expect(!device.isConnected == false)
  }

  @Test func `the server's time is written at a disconnect, and estimated here`() async throws {
    let world = GuideWorld("time")
    world.server.clock.advance(by: 3_600_000)
    let other = world.client()
    let device = world.client()
    let times = Gathered<Double>()
    OfflineSamples.watchSkew(device) { times.add($0) }
    #expect(await times.wait { !$0.isEmpty })
    let hourAhead = Date().timeIntervalSince1970 * 1000 + 3_600_000
    #expect(abs((times.all.last ?? 0) - hourAhead) < 120_000)
    let last = device.reference(withPath: "users/morgan/lastOnline")
    try await last.onDisconnectSetValue(ServerValue.timestamp())
    device.goOffline()
    let place = other.reference(withPath: "users/morgan/lastOnline")
    #expect(await eventually { (try? await place.getData().exists()) == true })
    let written = try await place.getData().value as? Double ?? 0
    #expect(abs(written - hourAhead) < 120_000)
  }

  @Test func `the presence app shows who is there and when they left`() async throws {
    let world = GuideWorld("app")
    let other = world.client()
    let device = world.client()
    OfflineSamples.presence(device)
    let connections = other.reference(withPath: "users/morgan/connections")
    #expect(await eventually { (try? await connections.getData().childrenCount) == 1 })
    let first = try await connections.getData().children.first
    #expect(first?.value as? Bool == true)
    // The operation on `lastOnline` is arranged last: all are when it is.
    try await device.reference(withPath: "barrier").onDisconnectRemoveValue()
    device.goOffline()
    #expect(await eventually { (try? await connections.getData().exists()) == false })
    let last = try await other.reference(withPath: "users/morgan/lastOnline").getData()
    #expect(last.value is Int)
    device.goOnline()
    #expect(await eventually { (try? await connections.getData().childrenCount) == 1 })
    let again = try await connections.getData().children.first
    #expect(again?.key != first?.key)
  }
}
