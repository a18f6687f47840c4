import ConiferServer
import ConiferStorage
import ConiferTree
import Dispatch
import Foundation
import Logging
import TestSupport
import Testing

@testable import Conifer

/// The client as an app has it, with its engine, on every backend; messages are delivered on queues.
@Suite struct DatabaseTests {
  @Test(arguments: Store.allCases)
  func `An observer that does not return holds up neither writes nor answers`(
    _ store: Store
  ) async throws {
    let scratch = try Scratch()
    let directory = scratch.path + "/client"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = Server()
    let database = Database(
      DatabaseConfiguration(
        namespace: World.namespace, storage: store.configuration(at: directory),
        transport: server.transport()))
    let release = DispatchSemaphore(value: 0)
    let place = database.reference(withPath: "a")
    place.observe(.value) { _ in release.wait() }
    for number in 1...3 {
      #expect(try await place.enqueue(.set(number)).outcome == .acknowledged)
    }
    #expect(server.data("a", in: World.namespace) == json("3"))
    for _ in 0..<10 { release.signal() }
    await database.close()
  }

  private let scratch: Scratch
  private let server = Server()

  init() throws { scratch = try Scratch() }

  private func open(_ store: Store, _ directory: String = "db") -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "app", storage: store.configuration(at: "\(scratch.path)/\(directory)"),
      transport: server.transport())
    configuration.logger.logLevel = .critical
    return Database(configuration)
  }

  @Test(arguments: Store.allCases)
  func `Set, read, update, transact and remove`(_ store: Store) async throws {
    let database = open(store)
    let room = database.reference(withPath: "rooms/r1")
    try await room.setValue(["name": "one", "members": 2])
    let found = try await room.getData()
    #expect(found.childSnapshot(forPath: "name").value as? String == "one")
    try await room.updateChildValues(["name": "two", "topic/text": "x"])
    #expect(
      server.data("rooms/r1", in: "app").text == #"{"members":2,"name":"two","topic":{"text":"x"}}"#
    )
    try await room.child("members").setValue(Conifer.ServerValue.increment(3))
    #expect(server.data("rooms/r1/members", in: "app").text == "5")
    try await room.removeValue()
    #expect(server.data("rooms", in: "app").isEmpty)
    await database.close()
    try? FileManager.default.removeItem(atPath: "\(scratch.path)/db")
  }

  @Test(arguments: Store.durable)
  func `Offline writes and pins outlive the database, and reach the server later`(
    _ store: Store
  ) async throws {
    let database = open(store)
    server.set("news", json(#"{"a":1}"#), in: "app")
    database.reference(withPath: "news").keepSynced(true)
    _ = try await database.reference(withPath: "news").getData()
    database.goOffline()
    let receipt = database.reference(withPath: "drafts/d1").enqueue(.set("text"))
    let id = try #require(try await receipt.id)
    _ = try await receipt.durable
    await database.close()

    let again = open(store)
    again.goOffline()
    let shown = try await withCheckedThrowingContinuation { continuation in
      again.reference(withPath: "news").observeSingleEvent(of: .value) {
        continuation.resume(returning: $0.node.text)
      } withCancel: {
        continuation.resume(throwing: $0)
      }
    }
    #expect(shown == #"{"a":1}"#)
    #expect(try await again.pendingWrites().map(\.id) == [id])
    again.goOnline()
    #expect(try await again.outcome(of: id) == .acknowledged)
    #expect(server.data("drafts/d1", in: "app").text == #""text""#)
    await again.close()
    try? FileManager.default.removeItem(atPath: "\(scratch.path)/db")
  }

  @Test func `A second opener is told that the store is busy, and nothing is lost`() async throws {
    let first = open(.lmdb)
    try await first.reference(withPath: "a").setValue(1)
    let second = open(.lmdb)
    await #expect(throws: DatabaseError.self) {
      try await second.reference(withPath: "a").setValue(2)
    }
    #expect(server.data("a", in: "app").text == "1")
    await second.close()
    await first.close()
    try? FileManager.default.removeItem(atPath: "\(scratch.path)/db")
  }

  @Test func `A database that nobody holds ends with its engine`() async throws {
    weak var engine: Engine?
    do {
      let database = open(.memory)
      try await database.reference(withPath: "a").setValue(1)
      engine = database.engine as? Engine
    }
    try await eventually("The engine outlives its database.") { engine == nil }
  }
}
