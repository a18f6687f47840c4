import ArgumentParser
import ConiferDocumentServer
import ConiferFirestore

/// The processes that the demo of documents kills: a client and its server.
///
/// The first one listens, loses the server and writes without end. Its lines: `saw` and how many documents the query
/// gave; `offline`; then, for each write that is on the medium, its number and its id, from 0, which is the one that will
/// be refused. The second one sends the queue, and says `held` when answers do not arrive any more.
struct DocumentDemoProcessCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-documents", abstract: "The process that the demo of documents kills.",
    shouldDisplay: false)

  /// An end all the same, should nobody kill it.
  private static let most = 1_000_000

  @Option var store: String
  @Option(help: "The collections to listen to.") var listen: [String] = []
  @Option(help: "Send the queue, and get no answers once so many documents were written.")
  var holdAfter: Int?

  func run(_ console: Console) async throws {
    let pair = try DocumentDemoPair(DemoStores(store), isReachable: true)
    if let holdAfter {
      try await send(pair, holdAfter, console)
    } else {
      try await write(pair, console)
    }
  }

  private func write(_ pair: DocumentDemoPair, _ console: Console) async throws {
    for collection in listen { _ = try await pair.synced(pair.client.collection(collection)) }
    var tallest = pair.tallest.snapshots(includeMetadataChanges: true).makeAsyncIterator()
    while let snapshot = try await tallest.next() {
      guard !snapshot.metadata.isFromCache else { continue }
      try console.print("saw \(snapshot.count)")
      break
    }
    pair.link.isReachable = false
    while let snapshot = try await tallest.next(), !snapshot.metadata.isFromCache {}
    try console.print("offline")
    for number in 0...Self.most {
      let receipt =
        number == 0
        ? DocumentDemoWrites.enqueueSecret(pair.client)
        : DocumentDemoWrites.enqueue(number, pair.client)
      guard let id = try await receipt.id else { continue }
      _ = try await receipt.durable
      try console.print("\(number) \(id)")
    }
  }

  private func send(_ pair: DocumentDemoPair, _ count: Int, _ console: Console) async throws {
    let held = pair.holdAnswers(after: count)
    try await pair.client.enableNetwork()
    for await _ in held { break }
    await pair.server.settle()
    try console.print("held")
    // The parent process ends this one; if the parent dies, this one is not needed any more.
    let parent = Platform.parent
    while Platform.parent == parent { try await Task.sleep(for: .seconds(1)) }
  }
}
