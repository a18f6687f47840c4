import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// What a link does on purpose and by chance.
@Suite struct LinkTests {
  @Test("A server that cannot be reached fails streams and requests as unavailable")
  func unreachable() async throws {
    let rig = try Rig()
    let link = rig.link()
    link.refuseOpens(next: 1)
    let first = Listener(link.transport.service)
    let second = Listener(link.transport.service)
    await rig.waitUntilIdle()
    #expect((first.now.closed ?? nil)?.code == .unavailable)
    #expect(second.now.isOpen)
    link.isReachable = false
    await rig.waitUntilIdle()
    #expect((second.now.closed ?? nil)?.code == .unavailable)
    let plain = DocumentLink(to: database, of: rig.server)
    plain.isReachable = false
    await #expect(throws: StatusError.self) {
      try await plain.transport.service.lookup([document("a/1")], token: nil)
    }
    plain.isReachable = true
    #expect(try await plain.transport.service.lookup([document("a/1")], token: nil).count == 1)
  }

  @Test(
    "A cut loses what is on its way to the client; what is on its way to the server may arrive",
    arguments: [true, false])
  func cuts(_ arrives: Bool) async throws {
    let rig = try Rig()
    let link = rig.link()
    let writer = Writer(link.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    link.hold()
    try writer.send(set("a/1", []))
    link.cut(arrives: arrives)
    link.release()
    await rig.waitUntilIdle()
    #expect(writer.now.answers.isEmpty)
    #expect((writer.now.closed ?? nil)?.code == .unavailable)
    #expect((try await rig.server.document(document("a/1"), in: database) != nil) == arrives)
  }

  @Test("A refusal that is lost with its stream is not taken for that of another batch")
  func lostRefusal() async throws {
    let rig = try Rig()
    let link = rig.link()
    let writer = Writer(link.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    link.hold(.toClient)
    try writer.send(set("a/1", []))
    try writer.send(update("a/none", [("n", 1)]))
    await rig.waitUntilIdle()
    link.cut()
    link.release()
    await rig.waitUntilIdle()
    #expect(writer.now.answers.isEmpty)
    #expect((writer.now.closed ?? nil)?.code == .unavailable)
  }

  @Test("Streams break after a number of messages")
  func counted() async throws {
    let rig = try Rig()
    let link = rig.link()
    let listener = Listener(link.transport.service)
    try listener.add(2, query("rooms"))
    link.cut(after: 2, .toClient)
    await rig.waitUntilIdle()
    // It opened and was told that the target is added.
    #expect(listener.now.said == [.targets(.added, [2])])
    #expect((listener.now.closed ?? nil)?.code == .unavailable)
  }

  @Test("Delays keep the order of a stream, and let streams overtake each other")
  func delays() async throws {
    var overtaken = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      let rig = try Rig(seed: seed)
      let gathered = Gathered<Int>()
      let links = (0..<2).map { number in
        let link = rig.link(seed: seed &+ UInt64(number) &* 100)
        link.delay(.milliseconds(0) ... .milliseconds(50))
        return link
      }
      let writers = links.map { Writer($0.transport.service) }
      for writer in writers { writer.greet() }
      await rig.waitUntilIdle()
      for (number, writer) in writers.enumerated() {
        for n in 0..<5 {
          gathered.add(number)
          try writer.send(
            set("a/\(number)-\(n)", [("n", .value(.integer(Int64(n))))]))
        }
      }
      await rig.waitUntilIdle()
      #expect(rig.pump.now > .zero)
      let made = try await rig.server.documents(query("a")).sorted { $0.updateTime < $1.updateTime }
        .map(\.path.id)
      for number in 0..<2 {
        #expect(
          made.filter { $0.hasPrefix("\(number)-") } == (0..<5).map { "\(number)-\($0)" },
          "seed \(seed)")
      }
      if made.prefix(5) != made.sorted().prefix(5) { overtaken += 1 }
    }
    #expect(overtaken > 5)
  }

  @Test("The same seed does the same")
  func seeds() async throws {
    func run(_ seed: UInt64) async throws -> [String] {
      let rig = try Rig(seed: seed)
      var ends: [String] = []
      let link = rig.link(seed: seed)
      link.faults = LinkFaults(refusedOpens: 0.2, cuts: 0.1, lostAnswers: 0.2)
      link.delay(.zero ... .milliseconds(20))
      for round in 0..<20 {
        let writer = Writer(link.transport.service)
        writer.greet()
        await rig.waitUntilIdle()
        if writer.now.greeted != nil { try writer.send(merge("a/1", [("n", .increment(1))])) }
        await rig.waitUntilIdle()
        ends.append("\(round) \(writer.now.answers.count) \(writer.now.closed != nil)")
        writer.close()
        await rig.waitUntilIdle()
      }
      let found = try await rig.server.document(document("a/1"), in: database)
      return ends + ["\(rig.pump.now)", "\(String(describing: found?.fields))"]
    }
    #expect(try await run(5) == run(5))
    #expect(try await run(5) != run(6))
  }

  @Test("In real time messages come from a queue, in order")
  func realTime() async throws {
    let rig = try Rig()
    let link = DocumentLink(to: database, of: rig.server)
    link.delay(.zero ... .milliseconds(2))
    let service = link.transport.service
    let told = AsyncStream<WatchStreamEvent>.makeStream()
    let stream = service.openWatch(token: nil) { event in
      told.continuation.yield(event)
      if case .closed = event { told.continuation.finish() }
    }
    stream.add(WatchTarget(2, try query("rooms").target))
    _ = try await service.commit([set("rooms/a", [])], token: nil)
    var found = false
    for await event in told.stream {
      if case .said(.document(let document, let matching, _), _) = event {
        found = document.path.id == "a" && matching == [2]
        stream.close()
      }
    }
    #expect(found)
    #expect(link.counts.requests == 1)
  }
}
