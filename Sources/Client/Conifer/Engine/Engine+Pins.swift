import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

extension Engine {
  /// Pins a target, durably, and listens to it without events; or ends that.
  func pin(_ isPinned: Bool, _ target: QueryTarget) {
    guard let lane else { return }
    let target = target.normalized
    let pin = Pin(tree: lane.tree, path: target.path, parameters: target.spec.identifier)
    if isPinned {
      guard pins[target] == nil else { return }
      add([.pin(pin)]) { [self] in note($0, "pinned", target) }
      listenToPin(target)
    } else {
      add([.unpin(pin)]) { [self] in note($0, "unpinned", target) }
      if let id = pins.removeValue(forKey: target) { stop(id) }
    }
  }

  /// Listens to what was pinned before the database was opened.
  func listenToPins() {
    let stored = read { (view, lane) throws(StoreError) in try view.pins(lane.tree) }
    for pin in stored ?? [] {
      do throws(TreeError) {
        let spec =
          pin.parameters == TrackedQuery.defaultParameters
          ? QuerySpec.default : try QuerySpec(json: Array(pin.parameters.utf8))
        listenToPin(QueryTarget(pin.path, spec))
      } catch {
        setup.logger.error(
          "a pin makes no sense", metadata: ["path": "\(pin.path)", "cause": "\(error)"])
      }
    }
  }

  private func listenToPin(_ target: QueryTarget) {
    let id = silentID()
    pins[target] = id
    listen(id, target, [], isSilent: true)
  }

  private func note(
    _ result: Result<CommitUnit.Numbers, StoreError>, _ what: String, _ target: QueryTarget
  ) {
    guard case .failure(let error) = result else { return }
    setup.logger.error(
      "a place is not \(what) durably", metadata: ["target": "\(target)", "cause": "\(error)"])
  }
}
