#if Network
  import ArgumentParser
  import Conifer

  /// The process that the client demo kills: it listens, and when the network is cut it writes without end.
  ///
  /// Its lines: `facts` and how many children the listener saw; then, for each write that is on the
  /// medium, its number.
  struct ClientDemoWriterCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo-client", abstract: "The process that the client demo kills.",
      shouldDisplay: false)

    /// The number of writes after which the process ends if nobody kills it.
    private static let maxWrites = 1_000_000

    @Option var store: String
    @Option var server: String

    func run(_ console: Console) async throws {
      let database = try DemoStores(store).openClient(server)
      let root = database.reference()
      for try await facts in root.child("facts").snapshots {
        try console.print("facts \(facts.childrenCount)")
        break
      }
      // Data that was listened to is cached; writes after the network is cut wait.
      for try await connected in database.reference(withPath: ".info/connected").snapshots {
        if connected.value as? Bool == false { break }
      }
      for number in 1...Self.maxWrites {
        let receipt = root.enqueue(
          .update([
            "writes/\(number)": "made offline", "count": ServerValue.increment(1),
          ]))
        _ = try await receipt.durable
        try console.print("\(number)")
      }
    }
  }
#endif
