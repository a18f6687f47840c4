import ConiferDocument
import ConiferDocumentSync
import ConiferFirestore
import ConiferWire

/// What was seen in a step, and what is so after it.
struct ScenarioObservation {
  let log: ScenarioLog.Entries
  /// Nil once the client was shut down.
  let inspection: EngineInspection?
  /// The indexes that are declared, or why they cannot be read.
  let indexes: Result<[String], any Error>
  /// What the server was asked for on the stream that is open.
  let targets: [TargetID: WatchTarget]
  let isWatched: Bool
  let isNetworkEnabled: Bool
  let outstandingWrites: Int
  let writeRequests: Int
  let watchRequests: Int
  /// What the client did that no client may do.
  let faults: [String]

  init(_ client: ScenarioClient) async {
    inspection = await client.inspect()
    do { indexes = .success(try await client.indexes()) } catch { indexes = .failure(error) }
    log = client.log.take()
    targets = client.server.targets
    isWatched = client.server.isWatched
    isNetworkEnabled = client.isNetworkEnabled
    outstandingWrites = client.server.sent.count
    writeRequests = client.server.writeRequests
    watchRequests = client.server.watchRequests
    faults = client.server.takeFaults(token: ScriptedSignIn.token(of: inspection?.user))
  }

  /// What is not as a case says; empty when all is.
  func differences(from expected: ScenarioExpectation) -> [String] {
    faults + log.failures + eventDifferences(expected.events)
      + (isNetworkEnabled && inspection != nil ? targetDifferences(expected.targets ?? [:]) : [])
      + stateDifferences(expected) + contradictions
  }

  // MARK: Listeners

  /// Events of different queries may come in any order.
  private func eventDifferences(_ expected: [ScenarioEvent]) -> [String] {
    func sorted(_ events: [ScenarioEvent]) -> [ScenarioEvent] {
      events.enumerated().sorted { ($0.element.query, $0.offset) < ($1.element.query, $1.offset) }
        .map(\.element)
    }
    let (seen, wanted) = (sorted(log.events), sorted(expected))
    if seen == wanted { return [] }
    func list(_ events: [ScenarioEvent]) -> String {
      events.isEmpty ? " none" : events.map { "\n    \($0)" }.joined()
    }
    return ["events:\(list(seen))\n  expected:\(list(wanted))"]
  }

  // MARK: Targets

  private func targetDifferences(_ expected: [TargetID: ScenarioExpectation.Target]) -> [String] {
    let ids = Set(expected.keys).union(targets.keys)
    return ids.sorted().flatMap { id -> [String] in
      switch (targets[id], expected[id]) {
      case (let seen?, let wanted?):
        return difference(seen, wanted).map { "target \(id): \($0)" }
      case (let seen?, nil):
        return ["target \(id) is listened to, for \(seen.target) (\(seen.purpose))"]
      case (nil, let wanted?): return ["target \(id) is not listened to, for \(wanted.target)"]
      case (nil, nil): return []
      }
    }
  }

  private func difference(
    _ seen: WatchTarget, _ wanted: ScenarioExpectation.Target
  ) -> [String] {
    var differences: [String] = []
    func compare<Value: Equatable>(_ name: String, _ seen: Value, _ wanted: Value) {
      if seen != wanted { differences.append("\(name) \(seen), expected \(wanted)") }
    }
    func text(_ token: [UInt8]) -> String { "'\(String(decoding: token, as: UTF8.self))'" }
    compare("query", seen.target, wanted.target)
    compare("purpose", seen.purpose, wanted.purpose)
    compare("token", text(seen.resumeToken), text(wanted.resumeToken))
    // Only one of the two goes to the server.
    if seen.resumeToken.isEmpty {
      compare("time", seen.version.microseconds, wanted.readTime.microseconds)
    }
    if let count = wanted.expectedCount { compare("count", seen.expectedCount, count) }
    return differences
  }

  // MARK: The rest

  private func stateDifferences(_ expected: ScenarioExpectation) -> [String] {
    var differences: [String] = []
    func compare<Value: Equatable>(_ name: String, _ seen: Value, _ wanted: Value?) {
      guard let wanted, seen != wanted else { return }
      differences.append("\(name): \(seen), expected \(wanted)")
    }
    // What a client that is over had in limbo means nothing.
    if let inspection {
      if isNetworkEnabled {
        compare(
          "in limbo", inspection.activeLimbo.keys.map(\.description).sorted(),
          expected.activeLimbo)
      }
      compare(
        "waiting for limbo", inspection.waitingLimbo.map(\.description).sorted(),
        expected.waitingLimbo)
    }
    compare("is shut down", inspection == nil, expected.isShutdown)
    compare("clients", inspection == nil ? 0 : 1, expected.clientCount)
    if let wanted = expected.indexes {
      switch indexes {
      case .success(let seen): compare("indexes", seen, wanted)
      case .failure(let error): differences.append("the indexes cannot be read: \(error)")
      }
    }
    compare("acknowledged", log.acknowledged, expected.acknowledged)
    compare("rejected", log.rejected, expected.rejected)
    compare("writes on their way", outstandingWrites, expected.outstandingWrites)
    compare("requests to write", writeRequests, expected.writeRequests)
    compare("requests to listen", watchRequests, expected.watchRequests)
    compare("calls in sync", log.inSyncCalls, expected.inSyncCalls)
    compare("calls of pending writes", log.pendingWritesCalls, expected.pendingWritesCalls)
    return differences
  }

  /// Where the engine's word of itself is not what the server sees.
  private var contradictions: [String] {
    var found: [String] = []
    guard let inspection else {
      return isWatched ? ["the stream of listens is open after the client's end"] : []
    }
    if isWatched, Set(inspection.targets.keys) != Set(targets.keys) {
      found.append(
        "the engine speaks of the targets \(inspection.targets.keys.sorted()), and the server is asked for "
          + "\(targets.keys.sorted())")
    }
    if inspection.outstandingWrites != outstandingWrites {
      found.append(
        "the engine speaks of \(inspection.outstandingWrites) writes on their way, and the server has "
          + "\(outstandingWrites)")
    }
    return found
  }
}
