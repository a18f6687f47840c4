import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@testable import Conifer
@testable import ConiferSync

/// The ways that data takes, on every backend.
@Suite struct FirstRunTests {
  @Test(arguments: Store.allCases)
  func `A write is shown at once, reaches the server, is answered and is heard by others`(
    _ store: Store
  ) async throws {
    let world = try World()
    let (writer, reader) = (world.device(store), world.device(store))
    reader.listen("all", QueryTarget("rooms"))
    writer.listen("own", QueryTarget("rooms/r1"), .init(.value))
    await world.waitUntilIdle()
    #expect(reader.lines.take() == ["all value null"])
    #expect(writer.lines.take() == ["own value null"])

    let receipt = writer.set("rooms/r1", #"{"name":"one"}"#, "set")
    await writer.idle()
    #expect(writer.lines.take() == [#"own value {"name":"one"}"#])
    #expect(world.data("rooms/r1").isEmpty)
    await world.waitUntilIdle()
    #expect(writer.lines.take() == ["set done"])
    #expect(world.data("rooms/r1") == json(#"{"name":"one"}"#))
    #expect(
      reader.lines.take() == [
        #"all added r1 {"name":"one"}"#, #"all value {"r1":{"name":"one"}}"#,
      ])
    #expect(try await receipt.outcome == .acknowledged)
    #expect(try await receipt.id == WriteReceipt.ID(identity: "", number: 1))
    #expect(try await writer.queued().isEmpty)
  }

  @Test(arguments: Store.allCases)
  func `Offline writes are shown, wait, and leave in order once there is a connection`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store, isOnline: false)
    device.listen("v", QueryTarget("list"), .init(.value))
    for number in 1...11 { device.set(Path("list/k\(number)"), "\(number)", "w\(number)") }
    await world.waitUntilIdle()
    // The list as a whole is unknown until the server tells.
    #expect(device.lines.take() == [])
    #expect(try await device.queued().map(\.id.number) == Array(1...11))
    let sent = Sent(device)
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(sent.paths == (1...11).map { Path("list/k\($0)") })
    #expect(device.lines.take().filter { $0.hasPrefix("w") } == (1...11).map { "w\($0) done" })
    #expect(world.data("list").childCount == 11)
  }

  @Test(arguments: Store.allCases)
  func `A refused write is taken back, its reason is told, and it waits for the app`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    device.listen("v", QueryTarget("a"), .init(.value))
    await world.waitUntilIdle()
    device.transport.refuse(next: 1)
    let receipt = device.set("a", "1", "set")
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == ["v value null", "v value 1", "v value null", "set permission-denied"])
    let id = try #require(try await receipt.id)
    let waiting = try await device.queued()
    #expect(waiting.map(\.id) == [id])
    try await device.engine.retry(id)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["v value 1"])
    #expect(world.data("a") == json("1"))
    #expect(try await device.engine.outcome(of: id) == .acknowledged)
  }

  @Test(arguments: Store.allCases)
  func `A refused write is replaced by another one, or given up`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    await world.waitUntilIdle()
    device.transport.refuse(next: 2)
    let (one, two) = (device.set("a", "1"), device.set("b", "1"))
    await world.waitUntilIdle()
    let ids = (try #require(try await one.id), try #require(try await two.id))
    let edited = try await device.engine.edit(ids.0, to: .set("a", json("2")))
    try await device.engine.discard(ids.1)
    await world.waitUntilIdle()
    #expect(try await edited.outcome == .acknowledged)
    #expect(world.data == json(#"{"a":2}"#))
    #expect(try await device.engine.outcome(of: ids.0) == .discarded)
    #expect(try await device.queued().isEmpty)
    await #expect(throws: DatabaseError.self) { try await device.engine.retry(ids.1) }
  }

  @Test(arguments: Store.allCases)
  func `A transaction runs again when the server's data is another`(_ store: Store) async throws {
    let world = try World()
    let (one, two) = (world.device(store), world.device(store))
    world.serverSets("n", "10")
    await world.waitUntilIdle()
    one.add(1, at: "n", "one")
    two.add(2, at: "n", "two")
    await world.waitUntilIdle()
    #expect(world.data("n") == json("13"))
    #expect(one.lines.all.count == 1 && two.lines.all.count == 1)
    #expect(one.lines.all[0].hasPrefix("one committed"))
    #expect(two.lines.all[0].hasPrefix("two committed"))
  }

  @Test(arguments: Store.allCases)
  func `A get asks the server; without a connection it takes what is cached completely`(
    _ store: Store
  ) async throws {
    let world = try World()
    let device = world.device(store)
    world.serverSets("a", #"{"b":1}"#)
    await world.waitUntilIdle()
    device.get("online", QueryTarget("a"))
    device.get("absent", QueryTarget("none"))
    await world.waitUntilIdle()
    #expect(device.lines.take() == [#"online got {"b":1}"#, "absent got null"])
    device.engine.goOffline()
    device.get("offline", QueryTarget("a"))
    device.get("below", QueryTarget("a/b"))
    device.get("still absent", QueryTarget("none"))
    device.get("unknown", QueryTarget("other"))
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        #"offline got {"b":1}"#, "below got 1", "still absent got null", "unknown disconnected",
      ])
  }

  @Test(arguments: Store.allCases)
  func `A get without a connection holds what transactions show`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    world.serverSets("a", #"{"m":1,"n":5}"#)
    await world.waitUntilIdle()
    device.get("a", QueryTarget("a"))
    await world.waitUntilIdle()
    device.engine.goOffline()
    device.listenToValue("n", QueryTarget("a/n"))
    device.add(1, at: "a/n", "t")
    device.set("a/o", "7")
    await world.waitUntilIdle()
    device.get("a", QueryTarget("a"))
    await world.waitUntilIdle()
    #expect(
      device.lines.take() == [
        #"a got {"m":1,"n":5}"#, "n value 5", "n value 6", #"a got {"m":1,"n":6,"o":7}"#,
      ])
  }

  @Test func `The client's own branch tells of connection and time`() async throws {
    let world = try World()
    let device = world.device(.memory, isOnline: false)
    device.listen("connected", QueryTarget(".info/connected"), .init(.value))
    device.listen("offset", QueryTarget(".info/serverTimeOffset"), .init(.value))
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["connected value false"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    let told = device.lines.take()
    #expect(told.contains("connected value true"))
    #expect(told.contains { $0.hasPrefix("offset value") })
    device.engine.goOffline()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["connected value false"])
  }

  @Test func `An onDisconnect runs at the server when the connection ends`() async throws {
    let world = try World()
    let device = world.device(.memory)
    device.engine.onDisconnect(.put("gone", json("true"))) { [lines = device.lines] error in
      lines.add("onDisconnect \(error.map { "\($0.code)" } ?? "done")")
    }
    device.set("here", "true")
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["onDisconnect done"])
    #expect(world.data("gone").isEmpty)
    device.transport.disconnect()
    await world.waitUntilIdle()
    #expect(world.data("gone") == json("true"))
  }
}
