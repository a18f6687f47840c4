import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import Synchronization
import TestSupport
import Testing

// What is compared when everything has come to rest.
extension ClientProgram {
  func compare() async throws {
    let all = try await everything()
    var made = 0
    var twins = 0...0
    for client in clients {
      let (count, range) = try await compare(client, all)
      made += count
      twins = twins.lowerBound + range.lowerBound...twins.upperBound + range.upperBound
    }
    guard case .integer(let sum) = value(all, "counters/twins", "n") ?? 0 else {
      Issue.record("seed \(seed): the counter of twins is no number")
      return
    }
    #expect(
      sum.isMultiple(of: 2) && twins.contains(Int(sum / 2)),
      "seed \(seed): of two same writes one is lost, or made twice: \(sum), not twice \(twins)")
    guard case .integer(let count) = value(all, "counters/c", "n") ?? 0 else {
      Issue.record("seed \(seed): the counter is no number")
      return
    }
    // The client keeps the token of its stream, so that the server knows what comes again.
    #expect(count == made, "seed \(seed): increments are lost, or were made twice")
    let transactions = clients.map(\.transactions.now)
    let wanted = transactions.reduce(0) { $0 + $1.made }
    let unknown = transactions.reduce(0) { $0 + $1.unknown }
    guard case .integer(let times) = value(all, "counters/t", "n") ?? 0 else {
      Issue.record("seed \(seed): the counter of transactions is no number")
      return
    }
    #expect(times >= wanted, "seed \(seed): transactions are lost")
    #expect(times <= wanted + unknown, "seed \(seed): transactions did not see each other")
    #expect(transactions.allSatisfy { $0.open == 0 }, "seed \(seed): a transaction does not end")
  }

  private func value(_ all: [Document], _ path: String, _ field: String) -> DocumentValue? {
    all.first { "\($0.path)" == path }?.fields?[field]
  }

  /// - Returns: how often the client added to the counter, and how many of its twins were made at least and at most.
  private func compare(
    _ client: ProgramClient, _ all: [Document]
  ) async throws -> (counted: Int, twins: ClosedRange<Int>) {
    #expect(client.open.count == 0, "seed \(seed): \(client.name) waits for an answer")
    #expect(client.complaints.all == [], "seed \(seed)")
    for heard in client.listeners { compare(heard, client, all) }
    for heard in client.removed {
      let complaints = heard.now.complaints
      #expect(complaints.isEmpty, "seed \(seed): \(client.name) listened: \(complaints.prefix(3))")
    }
    var counted = 0
    var twins = 0...0
    for write in client.writes {
      let isMade = try await compare(write, client, all)
      switch write.kind {
      case .counting: if isMade == true { counted += 1 }
      case .twin:
        twins =
          twins.lowerBound + (isMade == true ? 1 : 0)...twins.upperBound + (isMade == false ? 0 : 1)
      default: break
      }
    }
    return (counted, twins)
  }

  private func compare(_ heard: HeardListener, _ client: ProgramClient, _ all: [Document]) {
    let state = heard.now
    let what = "seed \(seed): \(client.name) listens to \(heard.query.canonical)"
    #expect(state.complaints.isEmpty, "\(what): \(state.complaints.prefix(3))")
    if let error = state.error { Issue.record("\(what), which ended: \(error)") }
    // Nobody asks the server for it.
    guard heard.asksServer else { return }
    let found = state.last.map { Array($0.documents) } ?? []
    let wanted = heard.query.evaluate(all)
    let isRight = found.map(\.content) == wanted.map(\.content)
    #expect(isRight, "\(what): \(found.map(\.path)), not \(wanted.map(\.path))")
    guard heard.options.includesMetadataChanges else {
      #expect(state.last != nil, "\(what), and was told nothing")
      return
    }
    #expect(state.last?.isFromCache == false, "\(what) from the cache")
    #expect(state.last?.hasPendingWrites == false, "\(what) with waiting writes")
  }

  /// A read gives what the server has then, whoever listens to the cache, and without a network what it had.
  mutating func compareReads() async throws {
    for client in clients {
      let queries = Set(client.listeners.map(\.query))
      // A read gives what a listener of the server shows, which may not have heard of the newest writes; a query that is
      // kept synced has one, too.
      client.keepNothingSynced()
      for heard in client.listeners where heard.asksServer { client.unlisten(heard) }
      for _ in 0..<2 {
        try await writeAsServer()
        let all = try await everything()
        for query in queries { try await compare(query, client, .server, all) }
      }
      let all = try await everything()
      for heard in client.listeners { client.unlisten(heard) }
      client.setNetwork(false)
      await waitUntilIdle()
      for query in queries { try await compare(query, client, .cache, all) }
    }
  }

  private mutating func compare(
    _ query: DocumentQuery, _ client: ProgramClient, _ source: GetSource, _ all: [Document]
  ) async throws {
    let what = "seed \(seed): \(client.name) reads \(query.canonical) from the \(source)"
    let answers = Gathered<Result<ListenEvent, FirestoreError>>()
    client.engine.get(query, source) { answers.add($0) }
    await waitUntilIdle()
    while answers.all.isEmpty, try await deliver() {}
    switch answers.all.first {
    case nil: Issue.record("\(what), and there is no answer")
    case .failure(let error): Issue.record("\(what): \(error)")
    case .success(let event):
      let found = Array(event.snapshot.documents)
      let wanted = query.evaluate(all)
      let isRight = found.map(\.content) == wanted.map(\.content)
      #expect(isRight, "\(what): \(found.map(\.content)), not \(wanted.map(\.content))")
      #expect(event.snapshot.isFromCache == (source == .cache), "\(what)")
    }
  }

  /// - Returns: whether the write was made; nil when that is not known.
  private func compare(
    _ write: ProgramWrite, _ client: ProgramClient, _ all: [Document]
  ) async throws -> Bool? {
    let what = "seed \(seed): \(write.name) of \(write.user)"
    guard let receipt = write.receipt.withLock({ $0 }) else { return false }
    #expect(write.told.count <= 1, "\(what) was told its end \(write.told.count) times")
    let isThere: Bool? =
      if case .twin = write.kind { nil } else { value(all, "log/\(write.name)", "by") != nil }
    let id: WriteReceipt.ID?
    do { id = try await receipt.id } catch {
      // It was never queued, or the client ended before it knew. The end of a client tells nobody.
      let isOver = write.era != client.era.count
      #expect(isOver || isThere != true, "\(what) was made although it failed")
      #expect(isOver || write.told.count == 1, "\(what) failed with \(error), told \(write.told)")
      return isOver ? isThere : false
    }
    guard let id else { return false }
    let outcome = try await client.engine.outcome(of: id)
    // The end of a client, and another user's sign-in, tell nobody.
    switch outcome {
    case .acknowledged where write.era == client.era.count,
      .rejected where write.era == client.era.count:
      #expect(write.told.count == 1, "\(what) ended as \(outcome), told \(write.told)")
    default: break
    }
    switch (write.kind, outcome) {
    case (_, .discarded):
      #expect(client.discarded.all.contains(id), "\(what) was given up, and nobody asked for that")
      // What was sent before may have been made, and was told before if it was refused.
      return isThere
    case (.refused(let code), .rejected):
      #expect(isThere == false, "\(what) was made although it was refused")
      #expect(write.told.allSatisfy { $0 == code }, "\(what): \(write.told)")
    case (.counting, .acknowledged), (.shared, .acknowledged), (.joining, .acknowledged),
      (.twin, .acknowledged):
      #expect(isThere != false, "\(what) is lost")
      #expect(write.told.allSatisfy { $0 == nil }, "\(what): \(write.told)")
      if case .joining = write.kind {
        guard case .array(let names) = value(all, "sets/s", "of") else {
          Issue.record("\(what): the set is lost")
          return true
        }
        #expect(names.filter { $0 == .string(write.name) }.count == 1, "\(what) is not in the set")
      }
    default: Issue.record("\(what) ended as \(outcome)")
    }
    return outcome == .acknowledged
  }
}

extension Document {
  /// What is compared: not when it was read, nor as of when.
  var content: Document { Document(path, state) }
}
