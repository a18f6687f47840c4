import ConiferQuery
import ConiferTree
import Synchronization

@testable import Conifer
@testable import ConiferSync

/// A listener that keeps a copy of its view by the events, and notes those that are invalid.
final class Watcher: Sendable {
  private struct State {
    var children: [Key: Node] = [:]
    var value: Node?
    var faults: [String] = []
  }

  let owner: ObjectIdentifier
  let id: ListenerID
  let target: QueryTarget
  private let state = Mutex(State())
  private static let last = Atomic<UInt64>(1_000_000)

  init(_ device: Device, _ target: QueryTarget) {
    owner = ObjectIdentifier(device)
    self.target = target
    id = ListenerID.app(Self.last.add(1, ordering: .relaxed).newValue)
    device.engine.observe(id, target, .all) { [weak self] in
      self?.take($0)
    } cancel: { [weak self] error in
      self?.state.withLock { $0.faults.append("cancelled: \(error)") }
    }
  }

  private func take(_ event: DataEvent) {
    state.withLock { state in
      let key = event.key ?? ""
      let old = state.children[key]
      switch event.kind {
      case .childAdded:
        if old != nil { state.faults.append("\(target): added \(key) twice") }
        state.children[key] = event.node
      case .childChanged, .childMoved:
        if old == nil { state.faults.append("\(target): changed \(key), which is not there") }
        state.children[key] = event.node
      case .childRemoved:
        if old == nil { state.faults.append("\(target): removed \(key), which is not there") }
        state.children[key] = nil
      case .value:
        state.value = event.node
        let copy = Node(children: state.children.map { ($0.key, $0.value) })
        if !event.node.isLeaf, copy != event.node.settingPriority(nil) {
          state.faults.append("\(target): value \(event.node.text), by its events \(copy.text)")
        }
      }
    }
  }

  /// What was invalid, and whether the view is not what the server's data gives.
  func check(_ data: Node) -> [String] {
    state.withLock { state in
      let wanted = target.spec.filtered(data)
      guard let value = state.value else { return state.faults + ["\(target): no value"] }
      if value == wanted { return state.faults }
      return state.faults + ["\(target): \(value.text), the server has \(wanted.text)"]
    }
  }

  /// The last value; nil when none was told.
  var value: Node? { state.withLock { $0.value } }

  /// What was invalid until now.
  var faults: [String] { state.withLock { $0.faults } }
}
