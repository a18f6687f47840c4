package import ConiferStorage
import Synchronization

/// A queue that performs an engine's steps one after the other, in the order in which they were posted, on a thread of
/// its own.
package actor StepQueue<Handler: StepHandler> {
  private struct State {
    var steps: [Handler.Step] = []
    /// Whether a task performs them.
    var isWorking = false
  }

  private nonisolated let state = Mutex(State())
  private nonisolated let thread = EngineThread()
  private let makeHandler: @Sendable (StepQueue) -> Handler
  /// The object that performs the steps; made by the first one.
  package private(set) lazy var handler = makeHandler(self)

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    thread.asUnownedSerialExecutor()
  }

  /// A queue without steps.
  ///
  /// - Parameter makeHandler: makes the object that performs the steps, on the queue's thread.
  package init(_ makeHandler: @escaping @Sendable (StepQueue) -> Handler) {
    self.makeHandler = makeHandler
  }

  /// Asks for a step; returns at once.
  package nonisolated func post(_ step: Handler.Step) {
    let isFirst = state.withLock { state in
      state.steps.append(step)
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if isFirst { Task(executorPreference: thread) { await self.work() } }
  }

  /// Does the steps there are, until there are none.
  private func work() async {
    while let steps = take() {
      await handler.perform(steps)
      handler.drain()
    }
  }

  /// Takes all steps there are; nil when there are none, and nobody does any from then on.
  private nonisolated func take() -> [Handler.Step]? {
    state.withLock { state in
      guard !state.steps.isEmpty else {
        state.isWorking = false
        return nil
      }
      defer { state.steps = [] }
      return state.steps
    }
  }

  /// Makes commits durable beside the steps, until nobody waits for that.
  package nonisolated func harden(_ backend: any StorageBackend) {
    Task(executorPreference: thread) { await self.runDurability(backend) }
  }

  private func runDurability(_ backend: any StorageBackend) async {
    await handler.durability.run(backend)
  }
}

/// The object that performs the steps of an engine, on the engine's thread.
package protocol StepHandler: AnyObject, SendableMetatype {
  associatedtype Step: Sendable

  /// The callers that wait until commits are durable.
  var durability: DurabilityWaits { get }

  /// Does steps, each of which ends before the next one begins.
  nonisolated(nonsending) func perform(_ steps: consuming [Step]) async

  /// Does what is left to do when no step waits.
  func drain()
}
