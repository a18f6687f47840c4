import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

/// A watch machine with an open stream, and a stand-in for the views.
struct Watched {
  private typealias F = Fixtures

  var machine = WatchMachine(Fixtures.database)
  var matched: [TargetID: Set<DocumentPath>] = [:]

  /// Listens to `c` as target 2.
  init(_ matched: String..., isAdded: Bool = true) throws {
    self.matched[2] = Set(matched.map(F.path))
    #expect(machine.listen(WatchTarget(2, try F.query().target), matched: lookUp) == [.openStream])
    #expect(machine.streamOpened(matched: lookUp).count == 1)
    if isAdded { #expect(say(.targets(.added, [2])).isEmpty) }
  }

  private var lookUp: (TargetID) -> MatchedPaths {
    { [matched] in MatchedPaths(matched[$0] ?? []) }
  }

  mutating func listen(_ target: WatchTarget) -> [WatchAction] {
    machine.listen(target, matched: lookUp)
  }

  mutating func open() -> [WatchAction] { machine.streamOpened(matched: lookUp) }

  mutating func say(_ change: WatchChange, at seconds: Int64? = nil) -> [WatchAction] {
    machine.received(change, version: seconds.map(F.time), matched: lookUp)
  }

  /// The event of a snapshot, which the views take in.
  mutating func snapshot(at seconds: Int64) throws -> RemoteEvent {
    let events = say(.targets(.noChange, []), at: seconds).compactMap { action -> RemoteEvent? in
      if case .event(let event) = action { event } else { nil }
    }
    let event = try #require(events.first)
    machine.stored(event)
    for (id, change) in event.targets {
      matched[id, default: []].formUnion(change.added)
      matched[id, default: []].subtract(change.removed)
    }
    return event
  }
}
