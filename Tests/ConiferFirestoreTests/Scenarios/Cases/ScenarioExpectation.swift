import ConiferDocument
import ConiferDocumentSync
import ConiferStorage
import ConiferWire

/// What is to be so after a step. What is nil stays as an earlier step said.
struct ScenarioExpectation: Sendable {
  /// A target that the server is to be asked for.
  struct Target: Sendable {
    let target: DocumentTarget
    var resumeToken: [UInt8]
    /// As of when the client says that it has what the server said, in place of a token.
    var readTime: ConiferDocument.Timestamp
    var purpose: TargetPurpose
    /// How many documents the client says that it has; nil when that is not said.
    var expectedCount: Int?
  }

  /// What listeners are told in the step; no more.
  var events: [ScenarioEvent] = []
  var targets: [TargetID: Target]?
  var activeLimbo: [String]?
  var waitingLimbo: [String]?
  /// The documents of the writes of which the app is told.
  var acknowledged: [String] = []
  var rejected: [String] = []
  var outstandingWrites: Int?
  var writeRequests: Int?
  var watchRequests: Int?
  /// How often the app is told that all listeners are of one moment, and that writes have ended.
  var inSyncCalls = 0
  var pendingWritesCalls = 0
  /// Whether the client was shut down.
  var isShutdown: Bool?
  /// How many clients use the store.
  var clientCount: Int?
  /// The indexes that are declared, in the order of their texts.
  var indexes: [String]?

  /// The keys of a step that are not its action.
  static let keys: Set<String> = [
    "expectedSnapshotEvents", "expectedState", "expectedSnapshotsInSyncEvents",
    "expectedWaitForPendingWritesEvents",
  ]
}

extension ScenarioExpectation {
  private typealias R = ScenarioJSON

  init(_ step: [String: Any]) throws {
    events = try R.list(step["expectedSnapshotEvents"] ?? []).map { try ScenarioEvent($0) }
    inSyncCalls = try step["expectedSnapshotsInSyncEvents"].map { try R.number($0) } ?? 0
    pendingWritesCalls =
      try step["expectedWaitForPendingWritesEvents"].map { try R.number($0) } ?? 0
    let state = try R.object(step["expectedState"] ?? R.Object())
    for (name, json) in state {
      switch name {
      case "activeTargets":
        let targets = try R.object(json).map { id, json in
          guard let number = TargetID(id) else { throw R.wrong("a target", id) }
          return (number, try Target(json))
        }
        self.targets = Dictionary(targets) { first, _ in first }
      case "activeLimboDocs": activeLimbo = try R.texts(json).sorted()
      case "enqueuedLimboDocs": waitingLimbo = try R.texts(json).sorted()
      case "userCallbacks":
        let callbacks = try R.object(json, of: ["acknowledgedDocs", "rejectedDocs"])
        acknowledged = try R.texts(callbacks["acknowledgedDocs"])
        rejected = try R.texts(callbacks["rejectedDocs"])
      case "numOutstandingWrites": outstandingWrites = try R.number(json)
      case "writeStreamRequestCount": writeRequests = try R.number(json)
      case "watchStreamRequestCount": watchRequests = try R.number(json)
      case "isShutdown": isShutdown = try R.flag(json)
      case "numActiveClients": clientCount = try R.number(json)
      case "indexes": indexes = try R.list(json).map { try R.index($0).description }.sorted()
      case "isPrimary":
        guard try R.flag(json) else {
          throw ScenarioError("the one client of a store is always its primary one")
        }
      default: throw ScenarioError("nobody knows the expectation \(name)")
      }
    }
  }

  /// What holds until it is said otherwise, of the step before.
  func following(_ earlier: ScenarioExpectation) -> ScenarioExpectation {
    var next = self
    next.targets = targets ?? earlier.targets
    next.activeLimbo = activeLimbo ?? earlier.activeLimbo
    next.waitingLimbo = waitingLimbo ?? earlier.waitingLimbo
    return next
  }

  /// What holds before the first step.
  static let atFirst: ScenarioExpectation = {
    var first = ScenarioExpectation()
    (first.targets, first.activeLimbo, first.waitingLimbo) = ([:], [], [])
    return first
  }()
}

extension ScenarioExpectation.Target {
  private typealias R = ScenarioJSON

  init(_ json: Any) throws {
    let json = try R.object(
      json, of: ["queries", "resumeToken", "readTime", "targetPurpose", "expectedCount"])
    guard let query = try R.list(json["queries"]).first else { throw R.wrong("a query", json) }
    target = try R.query(query).target
    resumeToken = R.token(json["resumeToken"])
    readTime = try json["readTime"].map { try R.time($0) } ?? .zero
    purpose =
      switch try json["targetPurpose"].map({ try R.text($0) }) ?? "TargetPurposeListen" {
      case "TargetPurposeListen": .listen
      case "TargetPurposeExistenceFilterMismatch": .existenceFilterMismatch
      case "TargetPurposeExistenceFilterMismatchBloom": .existenceFilterMismatchBloom
      case "TargetPurposeLimboResolution": .limboResolution
      case let other: throw R.wrong("a purpose", other)
      }
    expectedCount = try json["expectedCount"].map { try R.number($0) }
  }
}
