import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentServer

/// What the server does when commits of its store take long, or fail after they were made.
@Suite struct StoreFaultTests {
  @Test("Aggregates of one document are of the version that the rules saw")
  func oneVersion() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(
      backend,
      access: DocumentAccess(allows: { _, request in
        guard case .get(_, let fields) = request else { return true }
        // What waits is made while the rules are asked.
        backend.open()
        return fields?["public"] == true
      }))
    try await rig.commit(set("a/1", [("n", 1), ("public", true)]))
    let secret = try set("a/1", [("n", 2), ("public", false)])
    let committed = await backend.hold(secret, by: rig.server)
    let sum = try await rig.service.aggregate(only("a/1"), [.sum(field("n"))], token: nil)
    #expect(sum == [1])
    _ = try await committed.value
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 2)
  }

  @Test("Commits that the store made and failed are not made again")
  func failed() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let listener = Listener(rig.link().transport.service)
    try listener.add(2, query("a"))
    let writer = Writer(rig.link().transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    // The two batches come while another commit is being stored, so they are stored together.
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    let increment = try merge("a/1", [("n", .increment(1))])
    writer.send(increment)
    writer.send(increment)
    while rig.pump.step() {}
    backend.fail(next: 1)
    backend.open()
    let time = try await committed.value
    await rig.waitUntilIdle()
    #expect((writer.now.closed ?? nil)?.code == .unavailable)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 2)
    // Who listens is told what the store has.
    #expect(listener.now.closed == nil)
    #expect(listener.now.documents[document("a/1")]?.fields?["n"] == 2)

    let again = Writer(rig.link().transport.service)
    again.greet(writer.now.token)
    await rig.waitUntilIdle()
    again.send(increment)
    again.send(increment)
    again.send(increment)
    await rig.waitUntilIdle()
    #expect(again.now.answers.map { $0.results[0].transforms } == [[1], [2], [3]])
    let times = [time] + again.now.answers.map(\.commitTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    #expect(listener.now.documents[document("a/1")]?.fields?["n"] == 3)
    #expect(listener.now.complaints == [])
  }

  @Test("A batch of a commit in doubt is not answered before another commit succeeds")
  func doubt() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let increment = try merge("a/1", [("n", .increment(1))])
    var writer = Writer(rig.link().transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    // The first one makes the batch, and the second one would only show that the store has it.
    backend.fail(next: 2)
    for _ in 0..<2 {
      writer.send(increment)
      await rig.waitUntilIdle()
      #expect((writer.now.closed ?? nil)?.code == .unavailable)
      #expect(writer.now.answers.isEmpty)
      let token = writer.now.token
      writer = Writer(rig.link().transport.service)
      writer.greet(token)
      await rig.waitUntilIdle()
    }
    writer.send(increment)
    await rig.waitUntilIdle()
    #expect(writer.now.answers.count == 1)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 1)
  }

  @Test("Batches of writes that wait leave room for others")
  func batches() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    let api = DatabaseAPI(rig.server, database, token: nil)
    let results = try await withThrowingTaskGroup(of: Int.self) { group in
      for batch in 0..<6 {
        let writes = try (0..<500).map { try set("b/\(batch)-\($0)", []) }
        group.addTask {
          try await api.commitEach(writes).count { (try? $0.get()) != nil }
        }
      }
      // As many as wait are counted when the last one does.
      for number in 0..<20 {
        let write = try set("c/\(number)", [])
        group.addTask {
          _ = try await api.commit([write])
          return 1
        }
      }
      try await eventually("The commits do not wait.") {
        rig.server.host(database).waiting == 26
      }
      backend.open()
      return try await group.reduce(0, +)
    }
    #expect(results == 6 * 500 + 20)
    _ = try await committed.value
  }

  @Test("A user whose writes fill what may wait leaves room for others")
  func users() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    let loud = DatabaseAPI(rig.server, database, token: "loud")
    let refused = Gathered<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<RequestInbox.maxCommitsPerConnection + 5 {
        let write = try set("b/\(number)", [])
        group.addTask {
          do throws(StatusError) { _ = try await loud.commit([write]) } catch {
            #expect(error.code == .resourceExhausted)
            refused.add(number)
          }
        }
      }
      try await eventually("Not as much waits as may.") {
        refused.all.count == 5
          && rig.server.host(database).waiting == RequestInbox.maxCommitsPerConnection
      }
      for token in ["quiet", nil] {
        let write = try set("c/\(token ?? "nobody")", [])
        let other = DatabaseAPI(rig.server, database, token: token)
        group.addTask {
          _ = try await other.commit([write])
        }
      }
      try await eventually("The others' writes do not wait.") {
        rig.server.host(database).waiting == RequestInbox.maxCommitsPerConnection + 2
      }
      backend.open()
      try await group.waitForAll()
    }
    #expect(refused.all.count == 5)
    _ = try await committed.value
  }

  @Test("Behind a refused batch no batch of its stream is made, though all are stored together")
  func refusedTogether() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let writers = [Writer(rig.link().transport.service), Writer(rig.link().transport.service)]
    for writer in writers { writer.greet() }
    await rig.waitUntilIdle()
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    // They wait for that commit, and share the next one.
    let increment = try merge("a/1", [("n", .increment(1))])
    writers[0].send(increment)
    writers[0].send(try update("a/none", [("n", 1)]))
    for _ in 0..<3 { writers[0].send(increment) }
    writers[1].send(increment)
    writers[1].send(increment)
    while rig.pump.step() {}
    let commits = backend.count
    backend.open()
    _ = try await committed.value
    await rig.waitUntilIdle()
    #expect(backend.count == commits + 1)
    #expect(writers.map(\.now.answers.count) == [1, 2])
    #expect((writers[0].now.closed ?? nil)?.code == .notFound && writers[1].now.closed == nil)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 3)
    // What was not made is made once it comes again.
    let again = Writer(rig.link().transport.service)
    again.greet(writers[0].now.token)
    await rig.waitUntilIdle()
    for _ in 0..<3 { again.send(increment) }
    await rig.waitUntilIdle()
    #expect(again.now.answers.count == 3)
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 6)
    try await rig.server.close()
  }

  @Test("A commit that the store made and failed gives its time to no other")
  func time() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    try await rig.commit(set("a/1", [("n", 1)]))
    backend.fail(next: 1)
    #expect(try await rig.refusal(set("a/2", [("n", 2)]))?.code == .unavailable)
    let failed = try #require(await rig.server.document(document("a/2"), in: database))
    #expect(try await rig.commit(set("a/3", [])) > failed.updateTime)
  }
}
