#if Network && GRPC
  import ConiferDocument
  import ConiferFirestore

  // What is seen after the processes were killed.
  extension DocumentDemo {
    /// Opens the client without a network, looks for all that was reported, and returns how many writes wait beside the
    /// one that will be refused.
    func showCached(
      _ network: DemoNetwork, _ reported: Reported, _ figures: inout [DemoFigure]
    ) async throws -> Int {
      let start = ContinuousClock.now
      let client = DocumentDemoClient(
        port: network.port, storage: try DemoStores.storage(stores.client))
      let tallest = try await client.first(client.tallest)
      let opened = start.duration(to: .now)
      for document in tallest.documents { try say("   \(document.documentID)") }
      try require(
        tallest.metadata.isFromCache, "The query's first documents are not from the cache.")
      let queue = try await client.queue()
      let reportedIDs = (reported.refused.map { [$0] } ?? []) + reported.ids
      try require(
        queue.map(\.id).starts(with: reportedIDs),
        "\(reportedIDs.count) writes were on the medium, and the queue does not begin with them.")
      let waiting = queue.count - 1
      var shown = 0
      let state = DocumentDemoState(after: waiting)
      for collection in collections {
        let snapshot = try await client.first(client.firestore.collection(collection))
        let seen = DocumentDemoState.documents(snapshot)
        let isWritten = DocumentDemoWrites.collections.contains(collection)
        let expected = isWritten ? state.documents(in: collection) : facts.documents(in: collection)
        try require(seen == expected, "The client does not show \(collection) as it was.")
        try require(
          snapshot.metadata.isFromCache
            && snapshot.metadata.hasPendingWrites == (isWritten && !seen.isEmpty),
          "The client does not tell where \(collection) comes from: \(snapshot.metadata).")
        shown += seen.count
      }
      try say(
        "   it shows \(Figures.count(shown)) documents from the cache, with the writes that wait")
      try await require(network, has: 0)
      try await client.close()
      figures += [
        DemoFigure("time to open and show cached documents", opened),
        DemoFigure("documents shown from the cache", shown),
        DemoFigure("writes in the queue after the kill", waiting),
      ]
      return waiting
    }

    /// Looks what the client knows of the writes that the server has made and whose answers were lost.
    func lookBetween(
      _ client: DocumentDemoClient, _ lost: Int, _ figures: inout [DemoFigure]
    ) async throws {
      let unknown = try await client.queue().count {
        if case .rejected = $0.state { false } else { true }
      }
      try require(unknown == lost, "\(lost) answers were lost, and \(unknown) writes wait.")
      try say("   the server has all that it ever made; of \(lost) writes the client does not know")
      figures.append(DemoFigure("writes whose answers were lost with the processes", lost))
    }

    func drain(
      _ client: DocumentDemoClient, _ reported: Reported, _ figures: inout [DemoFigure]
    ) async throws {
      let firestore = client.firestore
      try await client.reconnect()
      try await Patience.wait(for: "the server's answers to all writes") {
        try await firestore.waitForPendingWrites()
      }
      for id in reported.ids {
        let outcome = try await Patience.wait(for: "the outcome of \(id)") {
          try await firestore.outcome(of: id)
        }
        try require(outcome == .acknowledged, "The write \(id) ended as \(outcome).")
      }
      figures.append(
        DemoFigure("receipts that were followed over the restarts", reported.ids.count))
    }

    /// Has the other client, which lived through it all, hear what the first writes make.
    func hear(_ other: DocumentDemoClient, _ count: Int) async throws {
      let state = DocumentDemoState(after: count)
      for collection in DocumentDemoWrites.collections {
        try await other.hears(state.documents(in: collection), in: collection)
      }
    }

    /// Looks for the refused write, has the other client mend what it was refused for, and has it sent again.
    func retry(
      _ client: DocumentDemoClient, _ other: DocumentDemoClient, _ reported: Reported,
      _ figures: inout [DemoFigure]
    ) async throws {
      let rejected = try await client.firestore.rejectedWrites()
      guard let id = reported.refused, rejected.map(\.id) == [id],
        case .rejected(let error)? = rejected.first?.state
      else { return try require(false, "The refused write is not a dead letter.") }
      try require(error.code == .notFound, "The refused write has another reason: \(error).")
      try say("   refused and kept with its reason: \(DocumentDemoWrites.lent), \(error)")
      let lent = other.firestore.document(DocumentDemoWrites.lent)
      let firestore = client.firestore
      let outcome = try await Patience.wait(for: "the refused write to be made") {
        try await lent.setData(["text": DocumentDemoWrites.text])
        try await firestore.retry(id)
        return try await firestore.outcome(of: id)
      }
      try require(outcome == .acknowledged, "The write that was sent again ended as \(outcome).")
      try await other.hears(
        [DocumentDemoWrites.lent: ["text": .string(DocumentDemoWrites.newText)]],
        in: DocumentDemoWrites.shelf)
      try say("   the document is there again; the write was sent again, made, and heard of")
      figures.append(DemoFigure("refused writes that were sent again", 1))
    }

    /// Requires that the server has what the first writes make, each made once, and no others.
    func require(_ network: DemoNetwork, has count: Int) async throws {
      let found = try await DocumentDemoClient.documents(
        in: DocumentDemoWrites.collections, ofServerAt: network.serverPort)
      if let difference = DocumentDemoState(after: count).difference(from: found) {
        throw Failure(
          "disproved", .disproved,
          "The server has not made each of the first \(count) writes once: \(difference).")
      }
    }
  }
#endif
