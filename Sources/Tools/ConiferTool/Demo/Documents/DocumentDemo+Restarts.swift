import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore

// What is seen after the processes were killed.
extension DocumentDemo {
  /// Opens the client without its server, looks for all that was reported, and returns how many writes wait beside the
  /// one that will be refused.
  func showCached(_ reported: Reported, _ figures: inout [DemoFigure]) async throws -> Int {
    let start = ContinuousClock.now
    let pair = try DocumentDemoPair(stores, isReachable: false)
    let tallest = try await pair.first(pair.tallest)
    let opened = start.duration(to: .now)
    for document in tallest.documents { try say("   \(document.documentID)") }
    try require(
      tallest.metadata.isFromCache, "The query's first documents are not from the cache.")
    let queue = try await pair.queue()
    let reportedIDs = (reported.secret.map { [$0] } ?? []) + reported.ids
    try require(
      queue.map(\.id).starts(with: reportedIDs),
      "\(reportedIDs.count) writes were on the medium, and the queue does not begin with them.")
    let waiting = queue.count - 1
    var shown = 0
    let state = DocumentDemoState(after: waiting)
    for collection in collections {
      let snapshot = try await pair.first(pair.client.collection(collection))
      let seen = Dictionary(
        uniqueKeysWithValues: snapshot.documents.map {
          ($0.reference.path, $0.document.fields.map(DocumentDemoState.fields) ?? [:])
        })
      let isWritten = DocumentDemoWrites.collections.contains(collection)
      let expected = isWritten ? state.documents(in: collection) : facts.documents(in: collection)
      try require(seen == expected, "The client does not show \(collection) as it was.")
      try require(
        snapshot.metadata.isFromCache && snapshot.metadata.hasPendingWrites == isWritten,
        "The client does not tell where \(collection) comes from: \(snapshot.metadata).")
      shown += seen.count
    }
    try say(
      "   it shows \(Figures.count(shown)) documents from the cache, with the writes that wait")
    let unsent = try await pair.server.document(
      DocumentPath(DocumentDemoWrites.totals), in: DocumentDemoPair.database)
    try require(
      unsent?.fields == DocumentDemoState.beginning.first?.fields,
      "The server has writes that were made without it.")
    try await pair.close()
    figures += [
      DemoFigure("time to open and show cached documents", opened),
      DemoFigure("documents shown from the cache", shown),
      DemoFigure("writes in the queue after the kill", waiting),
    ]
    return waiting
  }

  /// Looks what the server made and what the client knows of it; returns the latter.
  func lookBetween(
    _ pair: DocumentDemoPair, _ waiting: Int, _ figures: inout [DemoFigure]
  ) async throws -> Int {
    let queue = try await pair.queue()
    let unknown = queue.count { if case .rejected = $0.state { false } else { true } }
    let acknowledged = waiting - unknown
    try require(acknowledged >= 0, "\(unknown) writes wait, and only \(waiting) did before.")
    var state = DocumentDemoState(after: acknowledged)
    let documents = try await documents(of: pair.server)
    while state.documents != documents {
      try require(
        state.writes < waiting, "What the server has is not what the first writes make.")
      state.apply()
    }
    try say(
      "   the server has made \(Figures.count(state.writes)) writes, and the client knows of "
        + Figures.count(acknowledged))
    figures.append(
      DemoFigure("writes whose answers were lost with the process", state.writes - acknowledged))
    return acknowledged
  }

  func drain(
    _ pair: DocumentDemoPair, _ acknowledged: Int, _ reported: Reported,
    _ figures: inout [DemoFigure]
  ) async throws {
    let start = ContinuousClock.now
    pair.link.isReachable = true
    // As an app does when the system tells of a network: the next attempt comes at once.
    try await pair.client.disableNetwork()
    try await pair.client.enableNetwork()
    try await pair.client.waitForPendingWrites()
    figures.append(DemoFigure("time to send the rest of the queue", start.duration(to: .now)))
    for id in reported.ids {
      let outcome = try await pair.client.outcome(of: id)
      try require(outcome == .acknowledged, "The write \(id) ended as \(outcome).")
    }
    figures.append(
      DemoFigure("receipts that were followed over the restarts", reported.ids.count))
  }

  /// Looks for the refused write, lets it pass, and has it sent again.
  func retry(
    _ pair: DocumentDemoPair, _ reported: Reported, _ figures: inout [DemoFigure]
  ) async throws {
    let rejected = try await pair.client.rejectedWrites()
    guard let id = reported.secret, rejected.map(\.id) == [id],
      case .rejected(let error)? = rejected.first?.state
    else { return try require(false, "The refused write is not a dead letter.") }
    try require(error.code == .permissionDenied, "The refused write has another reason: \(error).")
    try say("   refused and kept with its reason: \(DocumentDemoWrites.secret), \(error)")
    pair.server.setAccess(.open)
    try await pair.client.retry(id)
    let outcome = try await pair.client.outcome(of: id)
    try require(outcome == .acknowledged, "The write that was sent again ended as \(outcome).")
    try say("   the server allows it now; it was sent again, and made")
    figures.append(DemoFigure("refused writes that were sent again", 1))
  }

  /// Requires all writes of the server, each made once, and the one that was sent again.
  func require(_ server: DocumentServer, has state: DocumentDemoState) async throws {
    if let difference = state.difference(from: try await documents(of: server)) {
      throw Failure(
        "disproved", .disproved,
        "The server has not made each of the \(state.writes) writes once: \(difference).")
    }
    let path = try DocumentPath(DocumentDemoWrites.secret)
    let secret = try await server.document(path, in: DocumentDemoPair.database)
    try require(secret != nil, "The server does not have the write that was sent again.")
  }

  /// The documents of a server that the writes change.
  private func documents(
    of server: DocumentServer
  ) async throws -> [String: DocumentDemoState.Fields] {
    var documents: [String: DocumentDemoState.Fields] = [:]
    for collection in DocumentDemoWrites.collections {
      let query = DocumentQuery(
        .collection(try CollectionPath(collection)), in: DocumentDemoPair.database)
      for document in try await server.documents(query) {
        documents[document.path.description] = DocumentDemoState.fields(document.fields)
      }
    }
    return documents
  }
}
