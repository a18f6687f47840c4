#if Network
  import Conifer
  import ConiferServer
  import ConiferServerHTTP
  import ConiferTree
  import ConiferWire
  import Foundation
  import NIOHTTP1
  import NetworkTestSupport
  import TestSupport
  import Testing

  @testable import ConiferWebSocket

  /// Databases and a server of the same protocol, with sockets between them.
  @Suite(.timeLimit(.minutes(10)), .serialized) struct DatabaseTests {
    @Test func `Two clients see each other's writes, queries and presence`() async throws {
      let service = try await Service()
      let (one, two) = (client(service.url), client(service.url))
      let watch = Watch(two.reference(withPath: "rooms"))
      try await one.reference(withPath: "rooms").setValue([
        "a": ["n": 1], "b": ["n": 2], "c": ["n": 3],
      ])
      await watch.wait { $0.childCount == 3 }
      let query = two.reference(withPath: "rooms").queryOrdered(byChild: "n").queryLimited(
        toLast: 2)
      let top = Watch(query)
      await top.wait { $0.children.map(\.key.string) == ["b", "c"] }
      try await one.reference(withPath: "rooms").updateChildValues(["d": ["n": 9], "b": NSNull()])
      await top.wait { $0.children.map(\.key.string) == ["c", "d"] }
      #expect(try await query.getData().node == top.node)

      try await one.reference(withPath: "presence/one").setValue(true)
      try await one.reference(withPath: "presence/one").onDisconnectRemoveValue()
      try await one.reference(withPath: "presence/kept").setValue(true)
      try await one.reference(withPath: "presence/kept").onDisconnectRemoveValue()
      try await one.reference(withPath: "presence/kept").cancelDisconnectOperations()
      let presence = Watch(two.reference(withPath: "presence"))
      await presence.wait { $0.childCount == 2 }
      await one.close()
      await presence.wait { $0 == ["kept": true] }
      await two.close()
      await service.http.stop()
    }

    @Test func `A message that is too large ends its write as refused, and the next one goes`()
      async throws
    {
      var limits = HTTPServerLimits()
      limits.message = 50_000
      let service = try await Service(limits: limits)
      let database = client(service.url)
      let reference = database.reference(withPath: "a")
      try await reference.setValue(1)
      let session = service.server.sessions(in: Service.namespace)
      let error = await #expect(throws: DatabaseError.self) {
        try await reference.setValue(String(repeating: "x", count: 300_000))
      }
      #expect(error?.code == .tooLarge)
      #expect(error?.message.contains("50000") == true)
      #expect(service.data("a") == 1)
      try await reference.setValue(2)
      #expect(service.data("a") == 2)
      // It was answered, and not sent again on a new connection.
      #expect(service.server.sessions(in: Service.namespace) == session)
      await database.close()
      await service.http.stop()
    }

    @Test func `Thousands of deletes in one write are told each, in order, and once`() async throws
    {
      let service = try await Service()
      let (one, two) = (client(service.url), client(service.url))
      let count = 3_500
      let keys = (0..<count).map { String(format: "k%04d", $0) }
      var values: [String: Any] = ["kept": "last"]
      for (number, key) in keys.enumerated() { values[key] = number }
      try await one.reference(withPath: "list").updateChildValues(values)
      let watch = Watch(two.reference(withPath: "list"))
      let events = Gathered<String>()
      two.reference(withPath: "list").observe(.childRemoved) { events.add($0.key) }
      let first = Watch(two.reference(withPath: "list").queryLimited(toFirst: 3))
      await watch.wait { $0.childCount == count + 1 }
      await first.wait { $0.childCount == 3 }
      try await one.reference(withPath: "list").updateChildValues(
        Dictionary(uniqueKeysWithValues: keys.map { ($0, NSNull()) }))
      await watch.wait { $0 == ["kept": "last"] }
      await first.wait { $0 == ["kept": "last"] }
      await wait(for: "\(count) events, of which \(events.all.count) came") {
        events.all.count >= count
      }
      #expect(events.all == keys)
      #expect(service.data("list") == ["kept": "last"])
      for database in [one, two] { await database.close() }
      await service.http.stop()
    }

    @Test func `After a cut, data that did not change is not sent again`() async throws {
      let service = try await Service()
      let proxy = try await FaultyProxy(to: service.port)
      let database = client("ws://127.0.0.1:\(proxy.port)", speed: 20)
      let children = (0..<200).map { number in
        (Key("k\(number)"), Node(.string(String(repeating: "x", count: 500))))
      }
      let data = Node(children: children)
      service.server.set("big", data, in: Service.namespace)
      let watch = Watch(database.reference(withPath: "big"))
      await watch.wait { $0 == data }
      let before = proxy.counts
      #expect(before.toClients > 100_000)
      try await proxy.cut()
      // One of many ranges changes meanwhile.
      service.server.set("big/k7", "new", in: Service.namespace)
      await watch.wait { $0[Key("k7")] == "new" }
      let after = proxy.counts
      #expect(after.connections > before.connections)
      #expect(after.toClients - before.toClients < 30_000)
      await database.close()
      await service.http.stop()
    }

    @Test func `A client goes where the server sends it, and stays away when it is told to`()
      async throws
    {
      let service = try await Service()
      let first = try await ScriptedServer()
      let database = client(first.url)
      let receipt = database.reference(withPath: "a").enqueue(.set(1))
      let socket = try #require(await first.next())
      socket.send(.reset(host: "127.0.0.1:\(service.port)"))
      try await receipt.acknowledged()
      #expect(service.data("a") == 1)
      await database.close()

      let other = client(first.url)
      var states = other.connectionStates.makeAsyncIterator()
      #expect(await states.next() == false)
      let again = try #require(await first.next())
      again.send(.hello(Hello(timestamp: 1, host: "", session: "s-9")))
      while await states.next() == false {}
      again.send(.shutdown("closed for today"))
      while await states.next() == true {}
      #expect(await again.next() == "close 1000")
      other.goOnline()
      #expect(await first.next()?.head?.uri.hasSuffix("&ls=s-9") == true)
      await other.close()
      await service.http.stop()
    }

    @Test func `A connection that is invalid is left, and another one opened`() async throws {
      let server = try await ScriptedServer()
      let database = client(server.url, speed: 5)
      _ = database.reference()
      let hello = ServerMessage.hello(Hello(timestamp: 1, host: "", session: "s"))
      for text in ["{", #"{"t":"d","d":{"a":"d","b":{}}}"#, "999999999"] {
        let socket = try #require(await server.next())
        socket.send(hello)
        socket.send(#"{"t":"d","d":{"a":"not known","b":[1]}}"#)
        socket.send(text)
        while await socket.next() != nil {}
      }
      #expect(await server.next() != nil)
      await database.close()
    }

    @Test func `The emulator is used from the first connection on, and not after`() async throws {
      let service = try await Service()
      let database = client("ws://127.0.0.1:1") { $0.transport = nil }
      database.useEmulator(withHost: "127.0.0.1", port: service.port)
      try await database.reference(withPath: "a").setValue(1)
      #expect(service.data("a") == 1)
      #expect(
        database.reference(withPath: "a").url == "http://127.0.0.1:\(service.port)/a?ns=test")
      database.useEmulator(withHost: "127.0.0.1", port: 1)
      try await database.reference(withPath: "a").setValue(2)
      #expect(service.data("a") == 2)
      await database.close()
      await service.http.stop()
    }
  }
#endif
