import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferSync

/// Runs one scenario on a fresh tree, with all its paths below a base.
struct ScenarioRunner {
  /// A server that is asked for listens and only checks that each is asked for once.
  private struct Listens {
    var open: Set<Listen> = []

    mutating func follow(_ result: SyncResult, _ step: Comment) {
      for listen in result.started {
        #expect(open.insert(listen).inserted, "listened twice: \(listen), \(step)")
      }
      for listen in result.stopped {
        #expect(open.remove(listen) != nil, "not listened: \(listen), \(step)")
      }
    }
  }

  private struct Callback: Hashable {
    let id: Int
    let target: QueryTarget
  }

  let base: Path
  private let tree = SyncTree(cache: nil)
  private var listens = Listens()
  private var callbacks: [Callback: ListenerID] = [:]
  private var lastListener: UInt64 = 0
  private var nextWrite: UInt64 = 0

  init(base: Path) { self.base = base }

  mutating func run(_ scenario: Scenario) throws {
    for (i, step) in scenario.steps.enumerated() {
      let comment: Comment = "\(scenario.name), step \(i): \(step.type) \(step.path)"
      let result = try perform(step, comment)
      listens.follow(result, comment)
      let isExact = step.type == "listen" || step.type == "unlisten"
      if isExact {
        expectExactly(step.events, result.events, comment)
      } else {
        expectGrouped(step.events, result.events, comment)
      }
    }
  }

  private mutating func perform(_ step: Scenario.Step, _ comment: Comment) throws -> SyncResult {
    let path = base.appending(step.path)
    switch step.type {
    case "listen":
      let target = QueryTarget(path, step.spec)
      lastListener += 1
      let id = ListenerID.app(lastListener)
      if let callback = step.callback { callbacks[Callback(id: callback, target: target)] = id }
      let result = try tree.listen(id, to: target, kinds: .all)
      if !step.spec.loadsAllData {
        #expect(tree.view(of: target)?.tag == step.tag, comment)
      }
      return result
    case "unlisten":
      let callback = Callback(
        id: try #require(step.callback, comment), target: QueryTarget(path, step.spec))
      return tree.stop(try #require(callbacks[callback], comment))
    case "serverUpdate":
      return tree.overwrite(path, step.data, tag: step.serverTag)
    case "serverMerge":
      return tree.merge(path, step.changes, tag: step.serverTag)
    case "set":
      return write([NodeChange(path, step.data)], step)
    case "update":
      return write(step.changes.map { NodeChange(path.appending($0.path), $0.node) }, step)
    case "ackUserWrite":
      let id = LanePosition(UInt64(step.write))
      return step.isRevert ? tree.revert(id) : tree.acknowledge(id)
    case "suppressWarning":
      return SyncResult()
    default:
      Issue.record("The step \(step.type) is not known.")
      return SyncResult()
    }
  }

  private mutating func write(_ changes: [NodeChange], _ step: Scenario.Step) -> SyncResult {
    defer { nextWrite += 1 }
    return tree.write(
      LanePosition(nextWrite), changes, isVisible: step.isVisible)
  }

  private func expectExactly(
    _ expected: [Scenario.Event], _ actual: [SyncResult.Raised], _ comment: Comment
  ) {
    let told = actual.map { describe($0.event) }
    guard expected.count == actual.count else {
      Issue.record("\(comment): expected \(expected.map(describe)), got \(told)")
      return
    }
    for (event, raised) in zip(expected, actual) {
      #expect(matches(event, raised.event), "\(comment): \(describe(event)), got \(told)")
    }
  }

  /// Compares events grouped by the path of their views: the groups in order, the events of one in
  /// any order among listeners, but for each listener with the kinds in order.
  private func expectGrouped(
    _ expected: [Scenario.Event], _ actual: [SyncResult.Raised], _ comment: Comment
  ) {
    let told = actual.map { describe($0.event) }
    guard expected.count == actual.count else {
      Issue.record("\(comment): expected \(expected.map(describe)), got \(told)")
      return
    }
    var first = 0
    while first < expected.count {
      let path = expected[first].path
      var end = first
      while end < expected.count, expected[end].path == path { end += 1 }
      var wanted = Array(expected[first..<end])
      var last: [ListenerID: DataEvent.Kind] = [:]
      for raised in actual[first..<end] {
        #expect(raised.event.target.path == base.appending(path), "\(comment): \(told)")
        if let kind = last[raised.listener] {
          #expect(kind <= raised.event.kind, "\(comment): kinds out of order: \(told)")
        }
        last[raised.listener] = raised.event.kind
        if let i = wanted.firstIndex(where: { matches($0, raised.event) }) {
          wanted.remove(at: i)
        } else {
          Issue.record(
            "\(comment): \(describe(raised.event)) is none of \(wanted.map(describe))")
        }
      }
      first = end
    }
  }

  private func matches(_ expected: Scenario.Event, _ event: DataEvent) -> Bool {
    guard name(event.kind) == expected.type, event.target.path == base.appending(expected.path),
      NodeHash.hash(event.node) == NodeHash.hash(expected.data)
    else { return false }
    if event.kind == .value { return event.key == nil }
    guard event.key?.string == expected.name else { return false }
    return event.kind == .childRemoved || event.previousKey?.string == expected.previous
  }

  private func name(_ kind: DataEvent.Kind) -> String {
    switch kind {
    case .childRemoved: "child_removed"
    case .childAdded: "child_added"
    case .childMoved: "child_moved"
    case .childChanged: "child_changed"
    case .value: "value"
    }
  }

  private func describe(_ event: DataEvent) -> String {
    "\(event.target.path) \(name(event.kind)) \(event.key?.string ?? "-") after "
      + "\(event.previousKey?.string ?? "-"): \(event.node.debugDescription)"
  }

  private func describe(_ event: Scenario.Event) -> String {
    "\(base.appending(event.path)) \(event.type) \(event.name ?? "-") after "
      + "\(event.previous ?? "-"): \(event.data.debugDescription)"
  }
}
