#if Network && GRPC
  import ArgumentParser
  import ConiferFirestore
  import UnixSignals

  /// The client's process that the demo of documents kills.
  ///
  /// The first one listens, loses its network, and writes without end. Its lines: `saw` and how many documents the query
  /// gave; `offline`; then, for each write that its listeners have heard and that is on the medium, its number, its id,
  /// and the microseconds until they heard it, from 0, the write that will be refused. The second one sends the queue,
  /// and says `drained`. Prompted, it makes a round of writes, and prints the same of each.
  struct DocumentDemoProcessCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo-documents", abstract: "The process that the demo of documents kills.",
      shouldDisplay: false)

    /// What it says once the server has answered all writes.
    static let drained = "drained"
    /// The number of writes after which the process ends if nobody kills it.
    private static let maxWrites = 1_000_000

    @Option var store: String
    @Option(help: "Where the network is.") var port: Int
    @Option(help: "The collections to listen to.") var listen: [String] = []
    @Option(help: "Send the queue; the number of the next write.") var next: Int?

    func run(_ console: Console) async throws {
      let storage = try DemoStores.storage(store)
      let client = DocumentDemoClient(port: port, storage: storage)
      if let next {
        try await send(client, next, console)
      } else {
        try await write(client, console)
      }
    }

    private func write(_ client: DocumentDemoClient, _ console: Console) async throws {
      for collection in listen {
        _ = try await client.synced(client.firestore.collection(collection))
      }
      var tallest = client.tallest.snapshots(includeMetadataChanges: true).makeAsyncIterator()
      while let snapshot = try await tallest.next() {
        guard !snapshot.metadata.isFromCache else { continue }
        try console.print("saw \(snapshot.count)")
        break
      }
      while let snapshot = try await tallest.next(), !snapshot.metadata.isFromCache {}
      try console.print("offline")
      let refused = DocumentDemoWrites.enqueueRefused(client.firestore)
      try await report(0, refused, .zero, console)
      var ears = try await DocumentDemoEars(client)
      for number in 1...Self.maxWrites {
        let start = ContinuousClock.now
        let receipt = DocumentDemoWrites.enqueue(number, client.firestore)
        try await ears.hear(number)
        try await report(number, receipt, start.duration(to: .now), console)
      }
    }

    private func send(
      _ client: DocumentDemoClient, _ next: Int, _ console: Console
    ) async throws {
      let prompts = await UnixSignalsSequence(trapping: .sigusr1)
      try await client.firestore.waitForPendingWrites()
      try console.print(Self.drained)
      for await _ in prompts { break }
      for number in next..<next + DocumentDemoWrites.round {
        let receipt = DocumentDemoWrites.enqueue(number, client.firestore)
        try await report(number, receipt, .zero, console)
      }
      // The parent process ends this one; if the parent dies, this one is not needed any more.
      let parent = Platform.parent
      while Platform.parent == parent { try await Task.sleep(for: .seconds(1)) }
    }

    /// Tells of a write once it is on the medium.
    private func report(
      _ number: Int, _ receipt: WriteReceipt, _ heard: Duration, _ console: Console
    ) async throws {
      guard let id = try await receipt.id else { return }
      _ = try await receipt.durable
      try console.print("\(number) \(id) \(Int64(heard / .microseconds(1)))")
    }
  }

  /// The listeners to what the writes change, which are told of each write one after the other.
  private struct DocumentDemoEars {
    private var state = DocumentDemoState()
    private var listeners: [String: Snapshots<QuerySnapshot>.Iterator] = [:]

    init(_ client: DocumentDemoClient) async throws {
      for collection in DocumentDemoWrites.collections {
        let query = client.firestore.collection(collection)
        var listener = query.snapshots().makeAsyncIterator()
        try Self.require(try await listener.next(), state, collection, isWritten: false)
        listeners[collection] = listener
      }
    }

    /// Waits until the listeners of what a write changes are told of it.
    ///
    /// - Throws: `Failure` with the status `disproved` when one is told of something else.
    mutating func hear(_ number: Int) async throws {
      let before = state
      state.apply()
      for collection in DocumentDemoWrites.collections
      where state.documents(in: collection) != before.documents(in: collection) {
        guard var listener = listeners[collection] else { continue }
        try Self.require(try await listener.next(), state, collection, isWritten: true)
        listeners[collection] = listener
      }
    }

    private static func require(
      _ snapshot: QuerySnapshot?, _ state: DocumentDemoState, _ collection: String, isWritten: Bool
    ) throws {
      guard let snapshot,
        DocumentDemoState.documents(snapshot) == state.documents(in: collection),
        snapshot.metadata.isFromCache,
        snapshot.metadata.hasPendingWrites == (isWritten && !snapshot.isEmpty)
      else {
        throw Failure(
          "disproved", .disproved,
          "Offline, a listener to \(collection) is not told of write \(state.writes), but of "
            + "\(snapshot.map { "\($0.count) documents, \($0.metadata)" } ?? "nothing").")
      }
    }
  }
#endif
