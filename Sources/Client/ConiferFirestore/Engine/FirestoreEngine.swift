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

  /// An engine that opens its storage at once, on its own thread.
  package init(_ configuration: FirestoreConfiguration) {
    let registry = ListenerRegistry()
    var configuration = configuration
    // Each transport value has connections of its own, so one value serves all requests of the
    // engine.
    configuration.transport = configuration.effectiveTransport
    configuration.host = nil
    let engineSetup = configuration
    setup = engineSetup
    self.registry = registry
    steps = StepQueue { steps in DocumentLoop(engineSetup, registry, steps) }
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
    steps.post(.close { [queue = setup.callbackQueue] in queue.async { completion(nil) } })
  }
}
