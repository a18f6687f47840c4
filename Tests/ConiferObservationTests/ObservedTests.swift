import Conifer
import ConiferObservation
import ConiferServer
import ConiferTree
import ConiferWire
import Dispatch
import Logging
import Observation
import Synchronization
import TestSupport
import Testing

/// Models of the tree's client, as views use them.
@MainActor @Suite struct `Observed models of the tree` {
  private struct Room: Codable, Equatable, Sendable {
    var name: String
    var size: Int?
  }

  private let server = Server()

  private func database(
    isOnline: Bool = true, _ transport: InProcessTransport? = nil
  ) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", transport: transport ?? server.transport())
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    if !isOnline { database.goOffline() }
    return database
  }

  @Test func `A value follows the server and local writes, and tells who reads it`() async throws {
    server.set("room", ["name": "Attic"], in: "test")
    let database = database()
    let place = database.reference(withPath: "room")
    let model = ObservedValue<Room>(place)
    #expect(model.value == nil && !model.phase.isCurrent)
    try await eventually("Nothing is heard.") { model.value == Room(name: "Attic") }
    #expect(model.phase.isCurrent)
    let changes = Atomic(0)
    withObservationTracking {
      _ = model.value
    } onChange: {
      changes.add(1, ordering: .relaxed)
    }
    _ = place.child("name").enqueue(.set("Cellar"))
    try await eventually("No change is told.") { changes.load(ordering: .relaxed) == 1 }
    try await eventually("The write is not shown.") { model.value?.name == "Cellar" }
    // What cannot be decoded leaves the last value.
    server.set("room", ["name": ["first": "Loft"]], in: "test")
    try await eventually("No fault is told.") { model.phase.error?.code == .coding }
    #expect(model.value?.name == "Cellar")
    server.set("room", ["name": "Loft", "size": 3], in: "test")
    try await eventually("It does not go on.") { model.value == Room(name: "Loft", size: 3) }
    #expect(model.phase.isCurrent)
    server.set("room", .empty, in: "test")
    try await eventually("It is not gone.") { model.value == nil }
    await database.close()
  }

  @Test func `Models show how well what they show is known`() async throws {
    server.set("rooms", ["a": ["name": "Attic"]], in: "test")
    let database = database()
    let rooms = database.reference(withPath: "rooms")
    let (model, list) = (ObservedValue<Room>(rooms.child("a")), ObservedList<Room>(rooms))
    #expect(model.metadata == nil && list.metadata == nil)
    try await eventually("Nothing is heard.") {
      model.metadata?.isFromCache == false && list.metadata?.isFromCache == false
    }
    #expect(model.metadata?.hasPendingWrites == false && list.metadata?.wasEverComplete == true)
    database.goOffline()
    _ = rooms.child("a/name").enqueue(.set("Cellar"))
    try await eventually("The write is not shown.") {
      model.value?.name == "Cellar" && list.rows.first?.value.name == "Cellar"
    }
    for metadata in [model.metadata, list.metadata] {
      #expect(metadata?.isFromCache == true && metadata?.hasPendingWrites == true)
    }
    await database.close()
  }

  @Test func `A model that goes, or is stopped, observes no longer`() async throws {
    let transport = server.transport()
    let count = Atomic(0)
    transport.watch { message in
      switch message {
      case .toServer(.request(_, .listen)): count.add(1, ordering: .relaxed)
      case .toServer(.request(_, .unlisten)): count.subtract(1, ordering: .relaxed)
      default: break
      }
    }
    let database = database(transport)
    let place = database.reference(withPath: "room")
    var model: ObservedValue<Room>? = ObservedValue(place)
    let other = ObservedValue<Room>(database.reference(withPath: "other"))
    func listens() -> Int { count.load(ordering: .relaxed) }
    try await eventually("Nothing is listened to.") { listens() == 2 }
    weak let released = model
    model = nil
    try await eventually("It is kept.") { released == nil }
    try await eventually("It listens still.") { listens() == 1 }
    other.stop()
    try await eventually("The other one listens still.") { listens() == 0 }
    await database.close()
  }

  @Test func `A list is in the query's order, and leaves out what cannot be decoded`() async throws
  {
    server.set(
      "rooms",
      [
        "a": ["name": "Attic", "size": 3], "b": ["name": "Bath", "size": 1], "c": ["name": 7],
        "d": ["name": "Den", "size": 2],
      ], in: "test")
    let database = database()
    let query = database.reference(withPath: "rooms").queryOrdered(byChild: "size")
    let model = ObservedList<Room>(query)
    try await eventually("Nothing is heard.") { model.phase.isCurrent }
    #expect(model.rows.map(\.id) == ["b", "d", "a"])
    #expect(model.rows.map(\.value.name) == ["Bath", "Den", "Attic"])
    #expect(model.faults.keys.sorted() == ["c"] && model.faults["c"]?.code == .coding)
    _ = query.ref.child("b/size").enqueue(.set(9))
    _ = query.ref.child("c/name").enqueue(.set("Cellar"))
    try await eventually("No change is heard.") { model.rows.map(\.id) == ["c", "d", "a", "b"] }
    #expect(model.faults.isEmpty && model.rows.last?.value == Room(name: "Bath", size: 9))
    _ = query.ref.enqueue(.set(nil))
    try await eventually("It is not empty.") { model.rows.isEmpty }
    await database.close()
  }

  @Test func `A place that may not be read says so`() async throws {
    try server.setRules(json: Array(#"{"rules":{".read":false}}"#.utf8), in: "test")
    let database = database()
    let value = ObservedValue<Room>(database.reference(withPath: "room"))
    let list = ObservedList<Room>(database.reference(withPath: "rooms"))
    try await eventually("Nothing is refused.") {
      value.phase.error?.code == .permissionDenied && list.phase.error?.code == .permissionDenied
    }
    // More will not be heard.
    if case .ended = value.phase {} else { Issue.record("\(value.phase)") }
    if case .ended = list.phase {} else { Issue.record("\(list.phase)") }
    await database.close()
  }

  @Test func `A model ends with the last observer, and with the database`() async throws {
    server.set("room", ["name": "Attic"], in: "test")
    let database = database()
    let place = database.reference(withPath: "room")
    let model = ObservedValue<Room>(place)
    let other = ObservedValue<Room>(database.reference(withPath: "other"))
    try await eventually("Nothing is heard.") { model.phase.isCurrent && other.phase.isCurrent }
    place.removeAllObservers()
    try await eventually("It does not end.") { model.phase == .ended(nil) }
    #expect(model.value?.name == "Attic" && other.phase.isCurrent)
    await database.close()
    try await eventually("The other one does not end.") { other.phase.error?.code == .closed }
  }

  /// What the model was about to hear is dropped.
  @Test func `A stopped model changes no more`() async throws {
    server.set("room", ["name": "Attic"], in: "test")
    let database = database()
    let place = database.reference(withPath: "room")
    let model = ObservedValue<Room>(place)
    try await eventually("Nothing is heard.") { model.phase.isCurrent }
    let heard = DispatchSemaphore(value: 0)
    // Called behind what the model hears.
    place.observe(.value) { _ in heard.signal() }
    func hear() { heard.wait() }
    hear()
    server.set("room", ["name": "Cellar"], in: "test")
    hear()
    model.stop()
    for _ in 0..<10 { await Task { @MainActor in }.value }
    #expect(model.value?.name == "Attic")
    await database.close()
    #expect(model.phase.isCurrent)
  }

  @Test func `A queued write whose sync failed goes on`() async throws {
    let receipt = WriteReceipt()
    receipt.setID(WriteReceipt.ID(identity: "", number: 7))
    receipt.setDurable(.failure(DatabaseError(.storageFailure, "The disk did not sync.")))
    let model = ObservedWrite(receipt)
    try await eventually("It is not followed.") { model.progress != .waiting }
    for _ in 0..<10 { await Task { @MainActor in }.value }
    #expect(model.progress == .queued)
    receipt.end(.acknowledged)
    try await eventually("It does not end.") { model.progress == .ended(.acknowledged) }
  }

  /// A room that counts how often one was decoded.
  private struct Counted: Decodable, Sendable {
    static let count = Atomic(0)
    let size: Int

    enum CodingKeys: CodingKey { case size }

    init(from decoder: any Decoder) throws {
      Self.count.add(1, ordering: .relaxed)
      size = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .size)
    }
  }

  @Test func `Only children that have changed are decoded again`() async throws {
    server.set("rooms", ["a": ["size": 1], "b": ["size": 2]], in: "test")
    let database = database()
    let place = database.reference(withPath: "rooms")
    let model = ObservedList<Counted>(place)
    try await eventually("Nothing is heard.") { model.rows.count == 2 }
    #expect(Counted.count.load(ordering: .relaxed) == 2)
    try await place.child("b/size").setValue(3)
    try await eventually("No change is heard.") { model.rows.last?.value.size == 3 }
    #expect(Counted.count.load(ordering: .relaxed) == 3)
    await database.close()
  }

  @Test func `A write is followed to its answer`() async throws {
    try server.setRules(
      json: Array(#"{"rules":{".read":true,"room":{".write":true}}}"#.utf8), in: "test")
    let database = database(isOnline: false)
    let place = database.reference(withPath: "room/name")
    let model = ObservedWrite(place.enqueue(.set("Attic")))
    #expect(model.progress == .waiting && model.id == nil)
    try await eventually("It is not durable.") { model.progress == .durable }
    #expect(model.id != nil)
    let refused = ObservedWrite(database.reference(withPath: "secret").enqueue(.set(1)))
    database.goOnline()
    try await eventually("It is not acknowledged.") { model.progress == .ended(.acknowledged) }
    try await eventually("It is not refused.") {
      if case .ended(.rejected(let error)) = refused.progress {
        error.code == .permissionDenied
      } else {
        false
      }
    }
    let bad = ObservedWrite(database.reference(withPath: "room").enqueue(.set(["a#": 1])))
    try await eventually("A bad one does not end.") {
      if case .ended(.failed) = bad.progress { true } else { false }
    }
    database.goOffline()
    let late = ObservedWrite(place.enqueue(.set("Cellar")))
    try await eventually("It is not queued.") { late.id != nil }
    await database.close()
    try await eventually("The end is not told.") { late.progress == .closed }
  }

  @Test func `The guide's model shows what it sends, and that it arrived`() async throws {
    let database = database()
    let model = RoomModel(database.reference(withPath: "rooms/r1"))
    model.send(Message(text: "hello"))
    try await eventually("It is not shown.") { model.messages.rows.map(\.value.text) == ["hello"] }
    try await eventually("It has not arrived.") { model.sending?.progress == .ended(.acknowledged) }
    await database.close()
  }
}
