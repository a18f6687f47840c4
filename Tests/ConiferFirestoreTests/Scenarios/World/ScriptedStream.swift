import ConiferDocument
import ConiferWire
import Synchronization

/// A stream of a client; what it does after its end is nothing.
final class ScriptedStream: WatchStream, WriteStream {
  private let server: ScriptedServer

  init(_ server: ScriptedServer) { self.server = server }

  func add(_ target: WatchTarget) {
    watch { state in
      state.watchRequests += 1
      state.watch?.targets[target.id] = target
    }
  }

  func remove(_ target: TargetID) {
    watch { state in
      state.watchRequests += 1
      state.watch?.removals[target, default: 0] += 1
      if state.watch?.targets.removeValue(forKey: target) == nil {
        state.faults.append("target \(target) is removed, and was not listened to")
      }
    }
  }

  func greet(token: [UInt8]) {
    writes { state, writes in
      if writes.isGreeted { state.faults.append("a stream of writes is greeted twice") }
      if !token.isEmpty, !state.wasGiven(token, to: writes.user) {
        state.faults.append("the server is greeted with a token that it gave to somebody else")
      }
      state.writeRequests += 1
      state.writes?.isGreeted = true
      let new = state.giveToken(to: writes.user)
      state.deliveries.append { writes.receive(.greeted(token: new)) }
    }
  }

  func send(_ mutations: [Mutation], batch: Int64?, token: [UInt8]) {
    writes { state, writes in
      if !writes.isGreeted { state.faults.append("writes are sent before the greeting") }
      if let fault = state.fault(of: token, for: writes.user) { state.faults.append(fault) }
      state.writeRequests += 1
      state.writes?.sent.append(mutations)
    }
  }

  func close() {
    watch { state in
      guard let watch = state.watch else { return }
      state.watch = nil
      state.deliveries.append { watch.receive(.closed(nil)) }
    }
    writes { state, writes in
      if writes.isGreeted { state.writeRequests += 1 }
      state.writes = nil
      state.deliveries.append { writes.receive(.closed(nil)) }
    }
  }

  private func watch(_ body: (inout ScriptedServer.State) -> Void) {
    server.state.withLock { state in if state.watch?.stream === self { body(&state) } }
  }

  private func writes(_ body: (inout ScriptedServer.State, ScriptedServer.Writes) -> Void) {
    server.state.withLock { state in
      if let writes = state.writes, writes.stream === self { body(&state, writes) }
    }
  }
}
