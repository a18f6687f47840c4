import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

extension Engine {
  /// Pins a target, durably, and listens to it without events; or ends that.
  func pin(_ isPinned: Bool, _ target: QueryTarget) {
    guard let lane else {
      setup.logger.error(
        "a place is not \(isPinned ? "pinned" : "unpinned")",
        metadata: ["target": "\(target)", "cause": "\(phaseError.message)"])
      return
    }
    let target = target.normalized
    let pin = Pin(tree: lane.tree, path: target.path, parameters: target.spec.identifier)
    if isPinned {
      guard pins[target] == nil, !waitingPins.contains(target) else { return }
      add([.pin(pin)]) { [self] in note($0, "pinned", target) }
      if arePinsRead {
        listenToPin(target)
      } else {
        waitingPins.insert(target)
      }
    } else {
      add([.unpin(pin)]) { [self] in note($0, "unpinned", target) }
      refusedPins.remove(target)
      waitingPins.remove(target)
      if let id = pins.removeValue(forKey: target) { stop(id) }
    }
  }

  /// Listens to what was pinned until there was a first connection: each pin in a step of its own, as
  /// it is read to tell the server what the client has.
  func listenToPins() {
    guard !arePinsRead else { return }
    arePinsRead = true
    defer {
      for target in waitingPins {
        post(
          .ask { engine in
            guard engine.waitingPins.remove(target) != nil else { return }
            engine.listenToPin(target)
          })
      }
    }
    let stored = read { (view, lane) throws(StoreError) in try view.pins(lane.tree) }
    for pin in stored ?? [] {
      do throws(TreeError) {
        let spec =
          pin.parameters == TrackedQuery.defaultParameters
          ? QuerySpec.default : try QuerySpec(json: Array(pin.parameters.utf8))
        waitingPins.insert(QueryTarget(pin.path, spec))
      } catch {
        setup.logger.error(
          "a pin makes no sense", metadata: ["path": "\(pin.path)", "cause": "\(error)"])
      }
    }
  }

  /// The server does not let this user listen to a pin: another one may, or this one later.
  func pinRefused(_ target: QueryTarget, _ error: DatabaseError) {
    pins[target] = nil
    refusedPins.insert(target)
    setup.logger.warning(
      "a pinned place is not downloaded",
      metadata: ["target": "\(target)", "cause": "\(error.message)"])
  }

  /// Somebody is signed in: listens to the pins that were refused before.
  func listenToRefusedPins() {
    let refused = refusedPins
    for target in refused { listenToPin(target) }
  }

  private func listenToPin(_ target: QueryTarget) {
    refusedPins.remove(target)
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
