#if Network && GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferFirestore

  /// The steps of the demo of documents, and the table that it ends with.
  struct DocumentDemo {
    let facts: DemoDocuments
    let writes: Int
    let stores: DemoStores
    let json: Bool
    let console: Console

    /// The writes that processes reported before they were killed.
    struct Reported {
      var refused: WriteReceipt.ID?
      /// Those after it, in order.
      var ids: [WriteReceipt.ID] = []
      /// How long it took until listeners had heard of each that was made offline.
      var heard: [Duration] = []
    }

    /// Runs every step.
    ///
    /// - Throws: `Failure` with the status `disproved` when a write is missing or counted twice, or clients and server do
    ///   not agree.
    func run() async throws {
      try say("client: \(stores.client)")
      try say("server: \(stores.server)")
      try say(
        "1. the server gets \(facts.fields.count) documents, and runs in a process of its own")
      try await fillServer()
      let network = try DemoNetwork(stores, of: .documents)
      do {
        try await run(network)
      } catch {
        network.kill()
        throw error
      }
    }

    private func run(_ network: DemoNetwork) async throws {
      let other = DocumentDemoClient(port: network.serverPort)
      try say("2. a client in another process listens, loses the network, writes, and is killed")
      var reported = try await killWriter(network, other)
      var figures = [
        DemoFigure("writes on the medium before the kill", reported.ids.count),
        DemoFigure("time until listeners heard of a write, median", median(reported.heard)),
      ]
      try say("3. the client is opened again, without a network")
      let waiting = try await showCached(network, reported, &figures)
      try say("4. the network is back: the queue drains, until server and client are killed")
      let last = try await killServerAndSender(network, other, waiting, &reported, &figures)
      try say("5. the server is started again on what it stored, and the client without a network")
      try network.restartServer()
      try await require(network, has: last)
      let client = DocumentDemoClient(
        port: network.port, storage: try DemoStores.storage(stores.client))
      try await lookBetween(client, last - waiting, &figures)
      try say("6. the network is back: the client sends the rest")
      try network.restore()
      try await drain(client, reported, &figures)
      try await require(network, has: last)
      figures.append(DemoFigure("writes that the server made once", last))
      try await hear(other, last)
      try await retry(client, other, reported, &figures)
      for collection in collections + [DocumentDemoWrites.shelf] {
        _ = try await client.synced(client.firestore.collection(collection))
      }
      try await client.close()
      try await other.close()
      try network.stop()
      try say("7. the stores of client and server are compared, document by document")
      let compared = try await DocumentDemoProof(stores).run()
      figures.append(DemoFigure("documents compared", compared))
      figures.append(DemoFigure("documents that differ, writes missing or counted twice", 0))
      try DemoFigure.show(figures, stores: [stores.client, stores.server], json, console)
    }

    /// What is listened to.
    var collections: [String] { facts.collections + DocumentDemoWrites.collections }

    func say(_ line: String) throws {
      if !json { try console.print(line) }
    }

    func require(_ condition: Bool, _ words: @autoclosure () -> String) throws {
      guard condition else { throw Failure("disproved", .disproved, words()) }
    }

    private func median(_ times: [Duration]) -> Duration {
      times.isEmpty ? .zero : times.sorted()[times.count / 2]
    }
  }

  // The processes that are killed.
  extension DocumentDemo {
    private func fillServer() async throws {
      let server = try DocumentServer(
        DocumentServerConfiguration(storage: DemoStores.storage(stores.server)))
      let database = DocumentDemoClient.database
      let own: [(String, MapValue)] = [
        (DocumentDemoWrites.totals, DocumentDemoState.totals),
        (DocumentDemoWrites.lent, ["text": .string(DocumentDemoWrites.text)]),
      ]
      for (path, fields) in facts.fields.map({ ($0.key, $0.value) }) + own {
        let data = fields.fields.map { ($0.name, WriteValue.value($0.value)) }
        try await server.commit([.set(DocumentPath(path), data, in: database)], in: database)
      }
      try await server.close()
    }

    /// Lets a client write without a network until enough is on the medium, kills it, and returns what it reported.
    private func killWriter(
      _ network: DemoNetwork, _ other: DocumentDemoClient
    ) async throws -> Reported {
      let child = try ChildProcess(
        ["demo-documents", "--store", stores.client, "--port", "\(network.port)"]
          + collections.flatMap { ["--listen", $0] })
      defer { child.kill() }
      var reported = Reported()
      while reported.ids.count < writes, let line = try child.line(within: Patience.limit) {
        if line.hasPrefix("saw ") {
          try say("   it \(line) documents; the network is cut")
          try network.cut()
          let lent = other.firestore.document(DocumentDemoWrites.lent)
          try await Patience.wait(for: "the server to delete a document") {
            try await lent.delete()
          }
        } else if line == "offline" {
          try say("   it is offline; another client has deleted \(DocumentDemoWrites.lent)")
        } else {
          take(line, &reported)
        }
      }
      try kill(child, &reported)
      try say("   killed after \(Figures.count(reported.ids.count)) writes")
      return reported
    }

    /// Lets the client send its queue, has answers get lost, kills client and server, and returns how many writes there
    /// were until then.
    private func killServerAndSender(
      _ network: DemoNetwork, _ other: DocumentDemoClient, _ waiting: Int,
      _ reported: inout Reported, _ figures: inout [DemoFigure]
    ) async throws -> Int {
      let start = ContinuousClock.now
      try network.restore()
      let child = try ChildProcess([
        "demo-documents", "--store", stores.client, "--port", "\(network.port)",
        "--next", "\(waiting + 1)",
      ])
      defer { child.kill() }
      guard try child.line(within: Patience.limit) == DocumentDemoProcessCommand.drained else {
        throw failure(of: child)
      }
      figures.append(DemoFigure("time to drain the queue", start.duration(to: .now)))
      try say("   the server has answered all that waited; its next answers get lost")
      try network.loseAnswers()
      child.prompt()
      let last = waiting + DocumentDemoWrites.round
      let known = reported.ids.count
      while reported.ids.count < known + DocumentDemoWrites.round,
        let line = try child.line(within: Patience.limit)
      { take(line, &reported) }
      // That the server has made them, a client knows that reaches it.
      try await hear(other, last)
      try kill(child, &reported)
      try network.killServer()
      try network.cut()
      try say(
        "   both killed after \(DocumentDemoWrites.round) more writes, which the server has made")
      return last
    }

    private func take(_ line: String, _ reported: inout Reported) {
      let words = line.split(separator: " ")
      guard words.count == 3, let number = Int(words[0]),
        let id = WriteReceipt.ID(String(words[1])),
        let heard = Int64(words[2])
      else { return }
      if number == 0 {
        reported.refused = id
      } else {
        reported.ids.append(id)
        reported.heard.append(.microseconds(heard))
      }
    }

    /// Kills a process; what it reported before its death counts as well.
    private func kill(_ child: ChildProcess, _ reported: inout Reported) throws {
      child.kill()
      while let line = try child.line() { take(line, &reported) }
      let end = try child.wait()
      guard end == .killed(signal: ChildProcess.killSignal) else { throw failure(endingAs: end) }
    }

    /// What the end of a process means that was to be killed.
    private func failure(of child: ChildProcess) -> any Error {
      do {
        child.kill()
        return failure(endingAs: try child.wait())
      } catch {
        return error
      }
    }

    private func failure(endingAs end: ChildProcess.End) -> Failure {
      end == .exited(ToolStatus.disproved.rawValue)
        ? Failure("disproved", .disproved, "The client's process says what does not hold.")
        : Failure("demo-documents", .internal, "The client's process was not killed: \(end).")
    }
  }
#endif
