import ConiferQuery
import ConiferTree

@testable import ConiferSync

/// What a listener can rebuild from its events alone; refuses sequences that no listener should see.
struct Replica {
  let target: QueryTarget
  private var children: [Key: Node] = [:]
  private var value: Node?

  init(_ target: QueryTarget) { self.target = target }

  /// Follows the events of one step.
  mutating func follow(_ events: [DataEvent], _ view: View) throws {
    let order = target.spec.evaluate(view.shown.node).map(\.key)
    var last = DataEvent.Kind.childRemoved
    for event in events {
      guard event.target == target else { throw Wrong("an event of \(event.target)") }
      guard last <= event.kind else { throw Wrong("\(event.kind) after \(last)") }
      last = event.kind
      guard let key = event.key else {
        guard view.isComplete else { throw Wrong("a value of what is not all known") }
        value = event.node
        continue
      }
      let old = children[key]
      guard (old == nil) == (event.kind == .childAdded) else {
        throw Wrong("\(event.kind) of \(key), which was \(old?.debugDescription ?? "not there")")
      }
      if event.kind == .childRemoved {
        guard event.node == old else { throw Wrong("\(key) was removed as another node") }
        children[key] = nil
        continue
      }
      children[key] = event.node
      let place = order.firstIndex(of: key) ?? 0
      guard event.previousKey == (place > 0 ? order[place - 1] : nil) else {
        throw Wrong("\(event.kind) of \(key) after \(event.previousKey?.string ?? "-")")
      }
    }
    let rebuilt = Node(children: children.map { ($0.key, $0.value) })
    let shown = Node(children: view.shown.node.children.map { ($0.key, $0.node) })
    guard rebuilt == shown else {
      throw Wrong("events make \(rebuilt.debugDescription), the view \(shown.debugDescription)")
    }
    guard !view.isComplete || value == view.shown.node else {
      throw Wrong(
        "the last value is \(value?.debugDescription ?? "-"), the view "
          + view.shown.node.debugDescription)
    }
  }
}

struct Wrong: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
