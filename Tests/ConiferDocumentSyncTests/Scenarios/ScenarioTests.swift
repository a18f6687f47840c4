import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import Foundation
import Testing

/// The cases of the specification, which are not published: beside the package, or beside the folder of
/// its worktrees. They are run on the machines with a store in dictionaries; what needs a real store, several
/// users or bundles is left to the client.
@Suite struct `The cases of the specification` {
  fileprivate typealias R = ScenarioReading

  static let folder: URL? = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return ["../shared/scenarios/documents", "../../shared/scenarios/documents"]
      .map { root.appendingPathComponent($0).standardizedFileURL }
      .first { FileManager.default.fileExists(atPath: $0.path) }
  }()

  /// Steps that are the client's or a store's.
  private static let others: Set<String> = [
    "restart", "changeUser", "failDatabase", "loadBundle", "triggerLruGC", "waitForPendingWrites",
    "addSnapshotsInSyncListener",
  ]

  @Test(.enabled(if: folder != nil, "the cases are not here"))
  func `tell listeners what they say`() throws {
    let folder = try #require(Self.folder)
    var passed = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      let data = try Data(contentsOf: folder.appendingPathComponent(name))
      let file = try #require(try JSONSerialization.jsonObject(with: data) as? [String: R.Object])
      for (title, test) in file.sorted(by: { $0.key < $1.key }) {
        let steps = test["steps"] as? [R.Object] ?? []
        let isServed = steps.allSatisfy { Self.others.isDisjoint(with: $0.keys) }
        guard isServed else { continue }
        let problem = try Self.run(steps, test["config"] as? R.Object ?? [:])
        #expect(problem == nil, "\(name): \(title)")
        if problem == nil { passed += 1 }
      }
    }
    #expect(passed > 100)
  }

  /// Runs a case; what is not as it says, or nil.
  private static func run(_ steps: [R.Object], _ config: R.Object) throws -> String? {
    var client = ScenarioClient(
      isEager: config["useEagerGCForMemory"] as? Bool ?? true,
      limboLimit: config["maxConcurrentLimboResolutions"] as? Int ?? .max)
    var expected = ScenarioExpectation()
    for (index, step) in steps.enumerated() {
      client.beginStep()
      try perform(step, &client)
      if let problem = try expected.problem(with: client, step) {
        return "step \(index) \(step.keys.sorted()): \(problem)"
      }
    }
    return nil
  }

  private static func perform(_ step: R.Object, _ client: inout ScenarioClient) throws {
    for (action, json) in step {
      let list = json as? [Any] ?? []
      let map = json as? R.Object ?? [:]
      switch action {
      case "userListen":
        try client.listen(R.query(try #require(map["query"])), R.options(map["options"]))
      case "userUnlisten": try client.unlisten(R.query(list[1]))
      case "userSet":
        let path = try DocumentPath(try #require(list[0] as? String))
        try client.write(.set(path, R.fields(list[1]), in: ScenarioReading.database))
      case "userPatch":
        let path = try DocumentPath(try #require(list[0] as? String))
        let data = try R.fields(list[1]).map { (try FieldPath(dotted: $0.0), $0.1) }
        try client.write(.update(path, data, in: ScenarioReading.database))
      case "userDelete":
        try client.write(.delete(DocumentPath(try #require(json as? String))))
      case "watchAck": try client.say(.targets(.added, R.numbers(json)))
      case "watchReset": try client.say(.targets(.reset, R.numbers(json)))
      case "watchCurrent":
        let token = Array((list[1] as? String ?? "").utf8)
        try client.say(.targets(.current, R.numbers(list[0]), resumeToken: token))
      case "watchRemove":
        let error = R.error(map["cause"])
        try client.say(
          .targets(error.map { .rejected($0) } ?? .removed, R.numbers(map["targetIds"])))
      case "watchSnapshot":
        let ids = R.numbers(map["targetIds"])
        let token = Array((map["resumeToken"] as? String ?? "").utf8)
        try client.say(
          .targets(.noChange, ids, resumeToken: token),
          at: ids.isEmpty ? R.time(map["version"]) : nil)
      case "watchEntity": try tell(map, &client)
      case "watchFilter":
        try client.say(
          .filter(
            R.numbers(map["targetIds"])[0], count: (map["keys"] as? [Any])?.count ?? 0,
            R.bloomFilter(map["bloomFilter"])))
      case "watchStreamClose": try client.breakStream()
      case "writeAck": try client.accept(at: R.time(map["version"]))
      case "failWrite": try client.refuse(try #require(R.error(map["error"])))
      case "enableNetwork": try client.setEnabled(json as? Bool ?? true)
      case "runTimer": try client.waitForOnlineState()
      default: #expect(action.hasPrefix("expected"), "nobody knows the step \(action)")
      }
    }
  }

  private static func tell(_ map: R.Object, _ client: inout ScenarioClient) throws {
    let (matching, leaving) = (R.numbers(map["targets"]), R.numbers(map["removedTargets"]))
    if let key = map["key"] as? String {
      return try client.say(.left(DocumentPath(key), leaving))
    }
    let one = (map["doc"] as? R.Object).map { [$0] }
    for json in one ?? map["docs"] as? [R.Object] ?? [] {
      try client.say(.document(R.document(json), matching: matching, leaving: leaving))
    }
  }
}

/// What a case says of the client after each step; some of it holds until it says otherwise.
private struct ScenarioExpectation {
  fileprivate typealias R = ScenarioReading

  private var active: R.Object = [:]
  private var limbo: [String] = []
  private var waiting: [String] = []

  fileprivate mutating func problem(with client: ScenarioClient, _ step: R.Object) throws -> String?
  {
    let state = step["expectedState"] as? R.Object ?? [:]
    active = state["activeTargets"] as? R.Object ?? active
    limbo = state["activeLimboDocs"] as? [String] ?? limbo
    waiting = state["enqueuedLimboDocs"] as? [String] ?? waiting
    return try eventProblem(client, step["expectedSnapshotEvents"] as? [R.Object] ?? [])
      ?? stateProblem(client, state)
  }

  private func eventProblem(_ client: ScenarioClient, _ expected: [R.Object]) throws -> String? {
    let told = client.events.map(text).sorted()
    let wanted = try expected.map { json -> String in
      let query = try R.query(try #require(json["query"])).canonical
      if let code = json["errorCode"] as? Int, code != 0 { return "\(query): error \(code)" }
      let kinds = ["added", "metadata", "modified", "removed"]
      let changes = try kinds.flatMap { kind in
        try (json[kind] as? [R.Object] ?? []).map { "\(kind) \(text(try R.document($0)))" }
      }
      return "\(query): \(json["fromCache"] as? Bool ?? false) "
        + "\(json["hasPendingWrites"] as? Bool ?? false) \(changes.sorted())"
    }.sorted()
    return told == wanted ? nil : "told \(told), not \(wanted)"
  }

  private func text(_ event: ScenarioClient.Event) -> String {
    let query = event.query.canonical
    guard let snapshot = event.snapshot else {
      return "\(query): error \(event.error?.code.rawValue ?? 0)"
    }
    let changes = snapshot.changes.map { "\($0.kind) \(text($0.document))" }
    return "\(query): \(snapshot.isFromCache) \(snapshot.hasPendingWrites) \(changes.sorted())"
  }

  private func text(_ document: Document) -> String {
    let fields = (document.fields?.fields ?? []).map { "\($0.name): \($0.value)" }
    return "\(document.path) \(document.version.microseconds) \(document.writes) \(fields)"
  }

  private func stateProblem(_ client: ScenarioClient, _ state: R.Object) -> String? {
    if client.isEnabled {
      let asked = client.active.values.map { target in
        "\(target.id) \(String(decoding: target.resumeToken, as: UTF8.self)) \(name(target.purpose))"
      }.sorted()
      let wanted = active.map { id, json in
        let map = json as? R.Object ?? [:]
        let purpose = map["targetPurpose"] as? String ?? "TargetPurposeListen"
        return "\(id) \(map["resumeToken"] as? String ?? "") \(purpose)"
      }.sorted()
      if asked != wanted { return "asked \(asked), not \(wanted)" }
      let found = client.listens.activeLimbo.keys.map(\.description).sorted()
      if found != limbo.sorted() { return "limbo \(found), not \(limbo)" }
    }
    let queued = client.listens.waitingLimbo.map(\.description).sorted()
    if queued != waiting.sorted() { return "waiting \(queued), not \(waiting)" }
    if let count = state["numOutstandingWrites"] as? Int, count != client.writes.outstanding.count {
      return "\(client.writes.outstanding) are on their way, not \(count)"
    }
    let callbacks = state["userCallbacks"] as? [String: [String]] ?? [:]
    let (accepted, refused) = (
      client.accepted.map(\.description), client.refused.map(\.description)
    )
    if accepted != callbacks["acknowledgedDocs"] ?? [] || refused != callbacks["rejectedDocs"] ?? []
    {
      return "accepted \(accepted), refused \(refused), not \(callbacks)"
    }
    return nil
  }

  private func name(_ purpose: TargetPurpose) -> String {
    switch purpose {
    case .listen: "TargetPurposeListen"
    case .existenceFilterMismatch: "TargetPurposeExistenceFilterMismatch"
    case .existenceFilterMismatchBloom: "TargetPurposeExistenceFilterMismatchBloom"
    case .limboResolution: "TargetPurposeLimboResolution"
    }
  }
}
