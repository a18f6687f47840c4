import ConiferEngine
import ConiferWire

/// The engine behind a `Firestore`: storage, listeners, streams to the server and callbacks, joined on one thread.
///
/// Whatever is asked of it, and whatever the server says, is a step; one step ends before the next one begins, so that
/// none sees half of another's effects.
package final class FirestoreEngine: DocumentEngine {
  let setup: FirestoreConfiguration
  let steps: StepQueue<DocumentLoop>
  let registry: ListenerRegistry
  private let resumptions = Resumptions()

  /// An engine that opens its storage at once, on its own thread.
  package init(_ configuration: FirestoreConfiguration) {
    let registry = ListenerRegistry()
    let authority = configuration.localAuthority?(configuration)
    var configuration = configuration
    if let authority {
      configuration.transport = DocumentTransport(
        authority, description: "a server within the process, with a store of its own")
    }
    // Each transport value has connections of its own, so one value serves all requests of the
    // engine.
    configuration.transport = configuration.effectiveTransport
    configuration.host = nil
    let engineSetup = configuration
    setup = engineSetup
    self.registry = registry
    steps = StepQueue { steps in DocumentLoop(engineSetup, authority, registry, steps) }
    steps.post(.open)
  }

  /// Has a closure run between two steps.
  func run(
    _ need: DocumentStep.Need = .none, _ body: @escaping @Sendable (DocumentLoop) -> Void
  ) { steps.post(.run(need, body)) }

  /// Runs a closure between two steps, and gives its result.
  func ask<R: Sendable>(
    _ need: DocumentStep.Need = .none, _ question: @escaping @Sendable (DocumentLoop) -> R
  ) async -> R {
    await withCheckedContinuation { continuation in
      run(need) { continuation.resume(returning: question($0)) }
    }
  }

  /// Wraps a closure of the app so that it is not called once `terminate` has begun.
  func untilEnd<R>(_ completion: @escaping @Sendable (R) -> Void) -> @Sendable (R) -> Void {
    { [registry] in if !registry.isEnded { completion($0) } }
  }

  // MARK: Network and end

  /// Lets the network be used, or not.
  package func setNetwork(
    _ isEnabled: Bool, _ completion: @escaping @Sendable (FirestoreError?) -> Void
  ) {
    let completion = untilEnd(completion)
    run { loop in
      loop.network.setWanted(isEnabled)
      loop.outbox.addCall { completion(nil) }
    }
  }

  /// Somebody signed in or out: the token provider is asked anew.
  package func tokenDidChange() { steps.post(.tokenDidChange) }

  /// The app has another token of its own: its provider is asked anew.
  package func appCheckTokenDidChange() { setup.transport?.service.appTokenDidChange() }

  /// Ends all; called back once the store is closed.
  package func terminate(_ completion: @escaping @Sendable (FirestoreError?) -> Void) {
    registry.end()
    handOver { [steps, queue = setup.callbackQueue] in
      steps.post(.close { queue.async { completion(nil) } })
    }
  }

  /// Lets go of the store until `resume`.
  package func suspend(_ completion: @escaping @Sendable (FirestoreError?) -> Void) {
    let before = resumptions.number
    handOver { [steps, resumptions] in
      // Otherwise the database would be suspended behind a call that resumes it.
      if !resumptions.suspend(since: before, { steps.post(.suspend(completion)) }) {
        completion(nil)
      }
    }
  }

  /// Goes on with the store.
  package func resume(_ completion: @escaping @Sendable (FirestoreError?) -> Void) {
    resumptions.resume { steps.post(.resume(completion)) }
  }

  /// Calls once the authority of a database without a server has what was written: the queue is in memory.
  private func handOver(_ done: @escaping @Sendable () -> Void) {
    if setup.localAuthority == nil { done() } else { steps.post(.handOver(done)) }
  }
}
