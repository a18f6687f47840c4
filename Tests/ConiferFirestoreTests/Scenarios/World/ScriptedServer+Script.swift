import ConiferDocument
import ConiferWire
import Synchronization

// What a script has the server say.
extension ScriptedServer {
  /// Hands the oldest thing that waits to the client; false when nothing waits.
  func deliver() -> Bool {
    guard
      let delivery = state.withLock({ $0.deliveries.isEmpty ? nil : $0.deliveries.removeFirst() })
    else { return false }
    delivery()
    return true
  }

  /// Speaks of a certain one of a target's listens from now on. The client tells them apart by the order of answers: each
  /// has the number of the target.
  func speak(ofListen index: Int) { state.withLock { $0.listen = index } }

  /// Says something on the stream of listens.
  ///
  /// - Throws: when no stream is open, or a target is rejected that nobody listens to.
  func say(_ message: ScenarioAction.WatchMessage) throws(ScenarioError) {
    let problem: String? = state.withLock { state in
      guard var watch = state.watch else { return "no stream of listens is open" }
      if case .targets(.rejected, let ids, _) = message.change {
        let listen = state.listen ?? .max
        for id in ids where listen >= watch.removals[id, default: 0] {
          if watch.targets.removeValue(forKey: id) != nil { continue }
          return "target \(id) is rejected, and nobody listens to it"
        }
        state.watch = watch
      }
      state.deliveries.append { [receive = watch.receive] in
        receive(.said(message.change, version: message.version))
      }
      return nil
    }
    if let problem { throw ScenarioError(problem) }
  }

  /// Breaks the stream of listens.
  ///
  /// - Throws: when none is open.
  func breakWatch(_ error: StatusError) throws(ScenarioError) {
    let isOpen = state.withLock { state in
      guard let watch = state.watch else { return false }
      state.watch = nil
      state.deliveries.append { watch.receive(.closed(error)) }
      return true
    }
    if !isOpen { throw ScenarioError("no stream of listens is open") }
  }

  /// Makes the oldest writes that were sent.
  func acknowledge(at time: ConiferDocument.Timestamp) throws(ScenarioError) {
    let isSent = state.withLock { state in
      guard var writes = state.writes, !writes.sent.isEmpty else { return false }
      let results = writes.sent.removeFirst().map {
        WriteResult(updateTime: $0.change == .delete ? nil : time)
      }
      state.writes = writes
      let token = state.giveToken(to: writes.user)
      state.deliveries.append { [receive = writes.receive] in
        receive(.answered(CommitResult(commitTime: time, results: results), token: token))
      }
      return true
    }
    if !isSent { throw ScenarioError("no write was sent that could be answered") }
  }

  /// Refuses the oldest writes that were sent, by an error that ends the stream.
  func refuse(_ error: StatusError) throws(ScenarioError) {
    let isSent = state.withLock { state in
      guard let writes = state.writes, !writes.sent.isEmpty else { return false }
      state.writes = nil
      state.deliveries.append { writes.receive(.closed(error)) }
      return true
    }
    if !isSent { throw ScenarioError("no write was sent that could be refused") }
  }
}
