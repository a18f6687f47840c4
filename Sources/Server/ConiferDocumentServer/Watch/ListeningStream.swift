import ConiferDocument
import ConiferKeyValue
import ConiferWire

/// A stream of listens, as the server sees it.
///
/// Nothing is queued for a client that reads slowly. The stream remembers the first change that it
/// was not sent, and a later moment sends the net effect.
struct ListeningStream: Sendable {
  /// What the client asks for.
  enum Input: Sendable {
    case add(WatchTarget)
    case refuse(TargetID, StatusError)
    case remove(TargetID)
  }

  /// How a target begins that was just added.
  enum Start: Sendable {
    /// With all its documents.
    case whole
    /// With what changed since a moment; the client says how many documents it had then.
    case changes(after: Timestamp, expectedCount: Int?)
  }

  /// How many targets a stream may have.
  static let maxTargets = 1000
  /// How many targets may be added and removed that the client has no answer to: all of them once each.
  static let maxInputs = 2 * maxTargets

  let caller: Caller
  let deliver: @Sendable ([WatchStreamEvent]) -> Void
  /// How many moments the client can take.
  var credit = 1
  /// What the client asked for and has no answer to.
  var inputs: [Input] = []
  /// Whether all targets must be checked against new access rules.
  var hasNewAccess = false
  /// The number of the first change that the stream must still be sent; nil when there is none.
  private(set) var firstUnsent: Int64?
  /// The number of the first change after the last moment.
  private(set) var told: Int64
  /// The memory of what was read for moments that the client has not taken.
  var reads: [ReadShare] = []
  var targets: [TargetID: ListenedTarget] = [:]
  var index = TargetIndex<TargetID>()
  /// The sources that came and went since they were last taken.
  var sources: [(source: DocumentQuery.Source, isAdded: Bool)] = []

  init(
    _ caller: Caller, told: Int64, _ deliver: @escaping @Sendable ([WatchStreamEvent]) -> Void
  ) {
    self.caller = caller
    self.told = told
    self.deliver = deliver
  }

  /// Whether there may be something to tell, and the client can take it.
  var isDue: Bool { credit > 0 && (firstUnsent != nil || !inputs.isEmpty || hasNewAccess) }

  /// A change may concern the stream.
  mutating func fallBehind(_ number: Int64) { firstUnsent = firstUnsent ?? number }

  /// The stream was told everything up to a change.
  mutating func caughtUp(with next: Int64) {
    firstUnsent = nil
    told = next
  }

  mutating func begin(_ target: ListenedTarget) {
    targets[target.id] = target
    index.insert(target.id, target.target.source)
    sources.append((target.target.source, true))
  }

  mutating func end(_ id: TargetID) {
    guard let target = targets.removeValue(forKey: id) else { return }
    index.remove(id, target.target.source)
    sources.append((target.target.source, false))
  }
}
