public import Dispatch

/// The queue or actor on which the app's own code runs: completion blocks, observers and the
/// functions of transactions.
///
/// What is handed to it runs one after the other, in order, and never on the engine's thread.
public struct CallbackQueue: Sendable {
  /// The queue that the app named, or the one that an actor's work begins on.
  package let queue: DispatchQueue
  /// Runs work behind all that it was given before.
  package let run: @Sendable (@escaping @Sendable () -> Void) -> Void

  package init(
    queue: DispatchQueue, run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.queue = queue
    self.run = run
  }

  /// A dispatch queue; a concurrent one is used one piece at a time.
  ///
  /// - Parameter queue: where to run.
  public static func queue(_ queue: DispatchQueue) -> CallbackQueue {
    let serial = DispatchQueue(label: "conifer.callbacks", target: queue)
    return CallbackQueue(queue: queue) { work in serial.async(execute: work) }
  }

  /// The main queue, and so the main actor.
  public static var main: CallbackQueue { .queue(.main) }

  /// An actor's executor.
  ///
  /// - Parameter actor: on whose executor to run; it is kept as long as the database.
  public static func actor(_ actor: some Actor) -> CallbackQueue {
    let (stream, works) = AsyncStream<@Sendable () -> Void>.makeStream()
    Task { [weak actor] in
      for await work in stream {
        guard let actor else { return }
        await Self.run(work, on: actor)
      }
    }
    // The closure keeps the actor; the task must not, or neither would ever end.
    return CallbackQueue(queue: .global()) { work in
      withExtendedLifetime(actor) { _ = works.yield(work) }
    }
  }

  /// The default: the main queue on Apple systems, a background queue elsewhere, where a program
  /// seldom serves its main queue.
  ///
  /// Blocks that touch state of the main actor need ``main``: those of the calls that bear the Apple
  /// SDK's names are not `Sendable`, so that no compiler checks where they run.
  public static var standard: CallbackQueue {
    #if canImport(Darwin)
      .main
    #else
      .queue(DispatchQueue(label: "conifer.user", qos: .userInitiated))
    #endif
  }

  private static func run(
    _ work: @Sendable () -> Void, on actor: isolated some Actor
  ) { work() }

  /// Runs work after all that was handed over before it; returns at once.
  package func async(_ work: @escaping @Sendable () -> Void) { run(work) }
}
