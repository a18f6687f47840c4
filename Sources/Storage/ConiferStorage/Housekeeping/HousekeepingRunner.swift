package import ConiferKeyValue
import Synchronization

/// Has a storage do its housekeeping when a `HousekeepingSchedule` says so.
///
/// It is told of each use of the storage. Slices run on the storage's own thread, and training on the
/// runtime's. All members may be called from any thread.
package final class HousekeepingRunner: Sendable {
  /// The clock by which it waits, in milliseconds that only grow.
  package struct Clock: Sendable {
    /// The time now.
    package let now: @Sendable () -> Int64
    /// Calls once when a time has come, on any thread.
    package let wake: @Sendable (_ at: Int64, _ body: @escaping @Sendable () -> Void) -> Void

    package init(
      now: @escaping @Sendable () -> Int64,
      wake: @escaping @Sendable (_ at: Int64, _ body: @escaping @Sendable () -> Void) -> Void
    ) {
      self.now = now
      self.wake = wake
    }

    /// The device's own clock.
    package static var system: Clock {
      let start = ContinuousClock.now
      let now: @Sendable () -> Int64 = {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
      }
      return Clock(now: now) { moment, body in
        Task.detached(priority: .utility) {
          try? await Task.sleep(for: .milliseconds(max(0, moment - now())))
          body()
        }
      }
    }
  }

  private struct State {
    var schedule: HousekeepingSchedule
    /// The time at which it is woken; nil when it is not.
    var alarm: Int64?
    /// Who waits until no slice is under way.
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// How many slices have begun.
    var begun = 0
  }

  private let backend: any StorageBackend
  private let pace: HousekeepingSchedule.Pace
  private let clock: Clock
  private let report: @Sendable (StoreError) -> Void
  private let state: Mutex<State>

  /// Begins to keep a storage tidy.
  ///
  /// - Parameters:
  ///   - backend: the storage, just opened.
  ///   - pace: when slices are done.
  ///   - clock: by which it waits.
  ///   - report: gets an error of a slice, the first of several in a row.
  package init(
    _ backend: any StorageBackend, _ pace: HousekeepingSchedule.Pace = HousekeepingSchedule.Pace(),
    clock: Clock, report: @escaping @Sendable (StoreError) -> Void
  ) {
    self.backend = backend
    self.pace = pace
    self.clock = clock
    self.report = report
    state = Mutex(State(schedule: HousekeepingSchedule(pace, at: clock.now())))
    proceed(at: clock.now())
  }

  /// How many slices have begun so far, and whether the last one is under way.
  package var slices: (begun: Int, isUnderWay: Bool) {
    state.withLock { ($0.begun, $0.schedule.isSlicing) }
  }

  /// How many commits it was told of.
  package var commits: Int { state.withLock { $0.schedule.commits } }

  /// The most slices that a commit has waited for.
  package var mostSlicesWaitedFor: Int { state.withLock { $0.schedule.mostSlicesWaitedFor } }

  /// Whether nothing is left to do until more is written.
  package var isResting: Bool { state.withLock { $0.schedule.isResting } }

  // MARK: What happens

  /// The storage is used, or is about to be.
  package func used() { change { $0.used(at: $1) } }

  /// A commit begins to wait; `commitEnded` follows.
  package func commitBegan() { change { $0.commitBegan(at: $1) } }

  /// A commit has ended, whether it was made or not.
  ///
  /// - Parameter edits: how many edits it had.
  package func commitEnded(edits: Int) { change { $0.commitEnded(edits: edits, at: $1) } }

  /// The storage is about to be suspended; returns when no slice is under way.
  package func suspend() async {
    change { schedule, _ in schedule.suspended() }
    await withCheckedContinuation { continuation in
      let isSlicing = state.withLock { state in
        if state.schedule.isSlicing { state.waiters.append(continuation) }
        return state.schedule.isSlicing
      }
      if !isSlicing { continuation.resume() }
    }
  }

  /// The storage is open again.
  package func resume() { change { $0.resumed(at: $1) } }

  /// The storage is about to be closed: no other slice begins.
  package func end() { change { schedule, _ in schedule.ended() } }

  private func change(_ body: (inout HousekeepingSchedule, _ now: Int64) -> Void) {
    let now = clock.now()
    state.withLock { body(&$0.schedule, now) }
    proceed(at: now)
  }

  // MARK: What is to be done

  private func proceed(at now: Int64) {
    while true {
      let action = state.withLock { state -> HousekeepingSchedule.Action in
        let action = state.schedule.next(at: now)
        if action == .slice { state.begun += 1 }
        guard case .wake(let moment) = action else { return action }
        // An alarm that comes earlier looks again.
        if let alarm = state.alarm, alarm <= moment { return .none }
        state.alarm = moment
        return action
      }
      switch action {
      case .none: return
      case .wake(let moment): return clock.wake(moment) { [weak self] in self?.woke(at: moment) }
      case .measure:
        let size = try? backend.size()
        state.withLock { $0.schedule.measured(size, at: now) }
      case .slice:
        Task.detached(priority: .utility) { await self.slice() }
        return
      }
    }
  }

  private func woke(at moment: Int64) {
    state.withLock { if $0.alarm == moment { $0.alarm = nil } }
    // A test's clock may wake before its time has come.
    proceed(at: max(moment, clock.now()))
  }

  private func slice() async {
    var result: Result<Bool, StoreError>
    do throws(StoreError) {
      result = .success(try await backend.tidy(pace.slice))
    } catch {
      result = .failure(error)
    }
    var size: StoreSize?
    if case .success(false) = result { size = try? backend.size() }
    let now = clock.now()
    let (error, waiters) = state.withLock { [result, size] state in
      defer { state.waiters = [] }
      return (state.schedule.sliceEnded(result, size: size, at: now), state.waiters)
    }
    for waiter in waiters { waiter.resume() }
    if let error { report(error) }
    proceed(at: now)
  }
}

// Storages that several servers share.
extension HousekeepingRunner {
  private struct Shared {
    weak var runner: HousekeepingRunner?
    var users = 1
  }

  private static let shared = Mutex<[ObjectIdentifier: Shared]>([:])

  /// The one that keeps a storage tidy; made unless another user of the storage has it. `leave` ends
  /// the use.
  package static func of(
    _ backend: any StorageBackend, clock: Clock, report: @escaping @Sendable (StoreError) -> Void
  ) -> HousekeepingRunner {
    shared.withLock { shared in
      shared = shared.filter { $0.value.runner != nil }
      let id = ObjectIdentifier(backend)
      if let runner = shared[id]?.runner {
        shared[id]?.users += 1
        return runner
      }
      let runner = HousekeepingRunner(backend, clock: clock, report: report)
      shared[id] = Shared(runner: runner)
      return runner
    }
  }

  /// How many keep a storage tidy together.
  package static func users(of backend: any StorageBackend) -> Int {
    shared.withLock { shared in
      guard let entry = shared[ObjectIdentifier(backend)], entry.runner != nil else { return 0 }
      return entry.users
    }
  }

  /// One of those that share it needs it no longer; the last one ends it.
  package func leave() {
    let id = ObjectIdentifier(backend)
    let isLast = Self.shared.withLock { shared in
      guard shared[id]?.runner === self else { return false }
      shared[id]?.users -= 1
      guard shared[id]?.users == 0 else { return false }
      shared[id] = nil
      return true
    }
    if isLast { end() }
  }
}
