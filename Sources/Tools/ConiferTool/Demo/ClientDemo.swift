#if Network
  import Conifer
  import ConiferTree
  import ConiferWebSocket

  /// The client demo's steps, and the table that it ends with.
  struct ClientDemo {
    let facts: Node
    let writes: Int
    let stores: DemoStores
    let json: Bool
    let console: Console

    /// Runs every step.
    ///
    /// - Throws: `Failure` with the status `disproved` when a write is missing or counted twice, or
    ///   client and server do not agree.
    func run() async throws {
      try say("client: \(stores.client)")
      try say("server: \(stores.server)")
      try say("1. the server gets its facts, and runs in a process of its own")
      try await stores.fillServer(["facts": facts])
      let network = try DemoNetwork(stores, of: .trees)
      do {
        try say("2. a client in another process listens, loses the network, writes, and is killed")
        let durable = try killWriter(network)
        var figures = [DemoFigure("writes on the medium before the kill", durable)]
        figures += try await reopenClient(network, durable)
        try network.stop()
        try DemoFigure.show(figures, stores: [stores.client], json, console)
      } catch {
        network.kill()
        throw error
      }
    }

    /// Lets the client write until enough is on the medium, kills it, and returns how many it reported.
    private func killWriter(_ network: DemoNetwork) throws -> Int {
      let child = try ChildProcess([
        "demo-client", "--store", stores.client, "--server", network.address,
      ])
      var durable = 0
      while durable < writes, let line = try child.line() {
        if let number = Int(line) {
          durable = number
        } else {
          try say("   it saw \(line); the network is cut")
          try network.cut()
        }
      }
      child.kill()
      // Reports from before its death count as well.
      while let line = try child.line() { durable = Int(line) ?? durable }
      let end = try child.wait()
      guard end == .killed(signal: ChildProcess.killSignal) else {
        throw Failure("demo-client", .internal, "The client's process was not killed: \(end).")
      }
      return durable
    }

    /// Opens the client again without a network, then lets it reach the server.
    private func reopenClient(_ network: DemoNetwork, _ durable: Int) async throws -> [DemoFigure] {
      try say("3. the client is opened again, without a network")
      let start = ContinuousClock.now
      let database = try stores.openClient(network.address)
      let root = database.reference()
      let cached = try await first(root.child("facts"))
      let opened = start.duration(to: .now)
      try require(cached.node == facts, "The facts that were listened to are not in the cache.")
      let waiting = try await database.pendingWriteTotals().pending
      try require(waiting >= durable, "\(durable) writes were on the medium, and \(waiting) wait.")
      let seen = try await children(root.child("writes"), waiting)
      try say("   it shows \(seen) writes that the server has not seen")

      try say("4. the network is back: the queue drains")
      let drain = ContinuousClock.now
      try network.restore()
      database.goOnline()
      while try await database.pendingWriteTotals().pending > 0 {
        try await Task.sleep(for: .milliseconds(2))
      }
      let drained = drain.duration(to: .now)
      // Another client, without cached data, asks the server.
      let other = Database(
        DatabaseConfiguration(
          namespace: DemoStores.namespace, transport: .webSocket(network.serverAddress)))
      let server = try await other.reference().getData().node
      await other.close()
      let stored = server["writes" as Key].childCount
      let counted = server["count" as Key]
      try require(stored == waiting, "The server has \(stored) of \(waiting) writes.")
      try require(
        counted == Node(.integer(Int64(waiting))), "The server counted \(counted), not \(waiting).")
      try require(server["facts" as Key] == facts, "The server's facts are not as they were.")
      let local = try await first(root)
      try require(local.node == server, "Client and server do not agree.")
      await database.close()
      return [
        DemoFigure("time to open and show cached data", opened),
        DemoFigure("writes in the queue after the kill", waiting),
        DemoFigure("time to drain the queue", drained),
        DemoFigure("writes that the server counted once", stored),
        DemoFigure("writes missing or counted twice", 0),
      ]
    }

    private func first(_ reference: DatabaseReference) async throws -> DataSnapshot {
      for try await snapshot in reference.snapshots { return snapshot }
      throw Failure("closed", .internal, "The client ended before it gave a value.")
    }

    /// The limit of the listener, at least the number of waiting writes.
    private func children(_ reference: DatabaseReference, _ waiting: Int) async throws -> Int {
      var seen = 0
      for try await batch in reference.childEventBatches() {
        seen += batch.count
        if seen >= waiting { break }
      }
      return seen
    }

    private func require(_ condition: Bool, _ words: String) throws {
      guard condition else { throw Failure("disproved", .disproved, words) }
    }

    private func say(_ line: String) throws {
      if !json { try console.print(line) }
    }
  }
#endif
