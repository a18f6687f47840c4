#if Network
  import Conifer
  import ConiferServerHTTP
  import ConiferTree
  import Foundation
  import NetworkTestSupport
  import Synchronization
  import TestSupport
  import Testing

  /// Many writes of many clients at once; CONIFER_LOAD sets how many each makes, CONIFER_LISTENERS
  /// how many listeners they have in all.
  @Suite(.timeLimit(.minutes(10))) struct LoadTests {
    /// The newest number that was seen of each client, and those that came out of order.
    private final class Order: Sendable {
      private let state = Mutex((newest: [Key: Int64](), wrong: 0))

      var wrong: Int { state.withLock { $0.wrong } }

      func see(_ node: Node) {
        state.withLock { state in
          for child in node.children {
            guard case .integer(let number)? = child.node.leaf else { continue }
            if number < state.newest[child.key] ?? 0 { state.wrong += 1 }
            state.newest[child.key] = number
          }
        }
      }
    }

    @Test func `Of eight clients' writes none is lost, doubled or out of order`() async throws {
      let memory = PeakMemory()
      let (count, writes) = (8, size("CONIFER_LOAD", 250))
      let rooms = max(1, size("CONIFER_LISTENERS", 1_000) / count)
      let service = try await Service()
      let clients = (0..<count).map { _ in client(service.url) }
      let watches = clients.map { database in
        (0..<rooms).map { Watch(database.reference(withPath: "rooms/r\($0)")) }
      }
      let orders = clients.map { _ in Order() }
      for (database, order) in zip(clients, orders) {
        database.reference(withPath: "last").observe(.value) { order.see($0.node) }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, database) in clients.enumerated() {
          group.addTask {
            var newest: WriteReceipt?
            for number in 1...writes {
              newest = database.reference().enqueue(
                .update([
                  "rooms/r\((index * writes + number) % rooms)/c\(index)-\(number)": number,
                  "last/c\(index)": number,
                  "counts/c\(index)": Conifer.ServerValue.increment(1),
                ]))
              // An app that writes faster than it is answered, but not all at once.
              guard number % 100 == 0 else { continue }
              _ = try await newest?.durable
              memory.look()
            }
            try await newest?.acknowledged()
            memory.look()
            #expect(try await database.pendingWriteTotals().pending == 0)
          }
        }
        try await group.waitForAll()
      }
      let data = service.data()
      for index in 0..<count {
        #expect(data[Path("counts/c\(index)")] == Node(.integer(Int64(writes))))
        #expect(data[Path("last/c\(index)")] == Node(.integer(Int64(writes))))
      }
      let leaves = (0..<rooms).map { data[Path("rooms/r\($0)")].childCount }
      #expect(leaves.reduce(0, +) == count * writes)
      #expect(orders.map(\.wrong) == [Int](repeating: 0, count: count))
      for watch in watches {
        for (room, watch) in watch.enumerated() {
          let node = data[Path("rooms/r\(room)")]
          await watch.wait { $0 == node }
        }
      }
      if let growth = memory.growth {
        print("\(count) clients, \(writes) writes each: \(growth >> 20) MiB of memory")
        // What waits is in memory. Otherwise other tests run beside.
        let isAlone = ProcessInfo.processInfo.environment["CONIFER_LOAD"] != nil
        if isAlone { #expect(growth < (256 << 20) + count * writes * 1024) }
      }
      for database in clients { await database.close() }
      await service.http.stop()
    }

    @Test func `What was written offline drains in order, each once`() async throws {
      let writes = size("CONIFER_LOAD", 2_000)
      let service = try await Service()
      let (one, two) = (client(service.url), client(service.url))
      one.goOffline()
      let numbers = Gathered<String>()
      two.reference(withPath: "last").observe(.value) { numbers.add("\($0.value ?? "")") }
      let watch = Watch(two.reference(withPath: "count"))
      await watch.wait { $0.isEmpty }
      var newest: WriteReceipt?
      for number in 1...writes {
        newest = one.reference().enqueue(
          .update([
            "list/n\(number)": number, "last": number,
            "count": Conifer.ServerValue.increment(1),
          ]))
        if number % 500 == 0 { _ = try await newest?.durable }
      }
      #expect(try await one.pendingWriteTotals().pending == writes)
      #expect(service.data().isEmpty)
      one.goOnline()
      try await newest?.acknowledged()
      #expect(try await one.pendingWriteTotals().pending == 0)
      await watch.wait { $0 == Node(.integer(Int64(writes))) }
      #expect(service.data("list").childCount == writes)
      await wait(for: "the number \(writes) after \(numbers.all.last ?? "none")") {
        numbers.all.last == "\(writes)"
      }
      #expect(numbers.all.dropFirst() == (1...writes).map { "\($0)" }[...])
      for database in [one, two] { await database.close() }
      await service.http.stop()
    }
  }
#endif
