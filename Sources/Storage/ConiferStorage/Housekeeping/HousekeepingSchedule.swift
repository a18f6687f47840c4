package import ConiferKeyValue

/// Decides when a slice of housekeeping is done. It has no effects and reads no clock: it is told what
/// happens and at what time, in milliseconds, and says what is to be done next.
///
/// - There is one slice at a time, and none begins while a commit waits or is being made durable.
/// - Slices begin when the storage was not used for a while. Where that never happens, shorter pauses
///   are used after a minute, for single slices.
/// - When nothing is left to do, it rests until enough was written, as a pass reads the whole store.
/// - After an error the next slice comes later, each time twice as late.
package struct HousekeepingSchedule: Sendable {
  /// The times and amounts by which it decides; times are in milliseconds.
  package struct Pace: Sendable {
    /// About how long a slice takes.
    package var slice = Duration.milliseconds(5)
    /// How long the storage is not used before slices begin.
    package var quiet: Int64 = 2_000
    /// After how long without such a pause a shorter one is enough.
    package var patience: Int64 = 60_000
    /// The shorter pause.
    package var shortQuiet: Int64 = 10
    /// How far apart slices in shorter pauses are.
    package var distance: Int64 = 250
    /// The delays after errors.
    package var retries: ClosedRange<Int64> = 1_000...600_000
    /// The numbers of edits after which a pass is worthwhile, in a small store and in a large one.
    package var edits = 64...4_096
    /// How many bytes of the store weigh as much as an edit.
    package var bytesAnEdit = 64 << 10
    /// By how many bytes a small store's size may change without a pass; a large one's by an eighth.
    package var smallestChange = 256 << 10

    package init() {}
  }

  /// What is to be done next.
  package enum Action: Sendable, Equatable {
    /// Nothing, until something happens.
    case none
    /// Ask again at a time.
    case wake(at: Int64)
    /// Say how large the store is.
    case measure
    /// Do a slice, and say how it ended.
    case slice
  }

  /// What was written since nothing was left to do.
  private struct Rest {
    var size: StoreSize?
    var edits = 0
    /// How many of the edits there were when the size was last compared.
    var measured = 0
  }

  private enum Phase {
    case resting(Rest)
    /// Something may be left to do, since a time; nothing is done before another.
    case due(since: Int64, notBefore: Int64)
    /// The storage is suspended.
    case suspended
    /// The storage is closed.
    case ended
  }

  private let pace: Pace
  private var phase: Phase
  private var lastUse: Int64
  /// How many commits wait or are being made durable.
  private var waiting = 0
  /// Whether a slice is under way.
  package private(set) var isSlicing = false
  /// How many slices were under way or began since commits began to wait.
  private var slicesWaitedFor = 0
  /// The most slices that a commit has waited for, from its call until it was made or as durable as asked.
  package private(set) var mostSlicesWaitedFor = 0
  /// How many commits it was told of.
  package private(set) var commits = 0
  /// The delay after the last error; nil when the last slice did not fail.
  private var retry: Int64?

  /// The schedule of a storage that was just opened, of which nothing is known.
  package init(_ pace: Pace = Pace(), at now: Int64) {
    self.pace = pace
    lastUse = now
    phase = .due(since: now, notBefore: now)
  }

  /// Whether nothing is left to do until more is written.
  package var isResting: Bool { if case .resting = phase { true } else { false } }

  // MARK: What happens

  /// The storage is used.
  package mutating func used(at now: Int64) { lastUse = max(lastUse, now) }

  /// A commit begins to wait.
  package mutating func commitBegan(at now: Int64) {
    used(at: now)
    commits += 1
    if waiting == 0 { slicesWaitedFor = isSlicing ? 1 : 0 }
    waiting += 1
  }

  /// A commit has ended.
  ///
  /// - Parameter edits: how many edits it had; 0 for a sync of earlier commits.
  package mutating func commitEnded(edits: Int, at now: Int64) {
    used(at: now)
    waiting -= 1
    mostSlicesWaitedFor = max(mostSlicesWaitedFor, slicesWaitedFor)
    guard case .resting(var rest) = phase else { return }
    rest.edits += edits
    phase = .resting(rest)
  }

  /// A slice has ended.
  ///
  /// - Parameters:
  ///   - result: whether more is left to do.
  ///   - size: of the store, where nothing is left to do.
  /// - Returns: the error, if it is to be logged: the first of several in a row.
  package mutating func sliceEnded(
    _ result: Result<Bool, StoreError>, size: StoreSize?, at now: Int64
  ) -> StoreError? {
    isSlicing = false
    guard case .due(let since, _) = phase else { return nil }
    switch result {
    case .success(let isMore):
      retry = nil
      let isQuiet = now >= lastUse + pace.quiet
      phase =
        isMore
        ? .due(since: since, notBefore: isQuiet ? now : now + pace.distance)
        : .resting(Rest(size: size))
      return nil
    case .failure(let error):
      if error.code == .closed {
        phase = .ended
        return nil
      }
      let delay = retry.map { min($0 * 2, pace.retries.upperBound) } ?? pace.retries.lowerBound
      defer { retry = delay }
      phase = .due(since: now + delay, notBefore: now + delay)
      return retry == nil ? error : nil
    }
  }

  /// The size that was asked for; nil when it is not known.
  package mutating func measured(_ size: StoreSize?, at now: Int64) {
    guard case .resting(let rest) = phase, let size else { return }
    guard let before = rest.size else { return phase = .due(since: now, notBefore: now) }
    let change = max(pace.smallestChange, before.live / 8)
    let needed = min(
      max(before.file / pace.bytesAnEdit, pace.edits.lowerBound), pace.edits.upperBound)
    if rest.edits >= needed || abs(size.live - before.live) > change
      || size.free - before.free > change
    {
      phase = .due(since: now, notBefore: now)
    }
  }

  /// The storage is suspended: nothing is done until `resumed`.
  package mutating func suspended() {
    if case .ended = phase { return }
    phase = .suspended
  }

  /// The storage is open again, and may have been changed meanwhile.
  package mutating func resumed(at now: Int64) {
    guard case .suspended = phase else { return }
    used(at: now)
    (phase, retry) = (.due(since: now, notBefore: now), nil)
  }

  /// The storage is closed.
  package mutating func ended() { phase = .ended }

  // MARK: What is to be done

  /// What is to be done next. After `slice` and `measure` it is told the result.
  package mutating func next(at now: Int64) -> Action {
    guard !isSlicing, waiting == 0 else { return .none }
    switch phase {
    case .suspended, .ended: return .none
    case .resting(var rest):
      guard rest.edits > rest.measured else { return .none }
      let moment = lastUse + pace.quiet
      guard now >= moment else { return .wake(at: moment) }
      rest.measured = rest.edits
      phase = .resting(rest)
      return .measure
    case .due(let since, let notBefore):
      let isImpatient = now >= since + pace.patience
      let moment = max(lastUse + (isImpatient ? pace.shortQuiet : pace.quiet), notBefore)
      if now >= moment {
        isSlicing = true
        slicesWaitedFor += 1
        return .slice
      }
      // A storage that is used all the time is looked at now and then.
      if isImpatient { return .wake(at: max(moment, now + pace.distance)) }
      return .wake(at: max(min(moment, since + pace.patience), now + 1))
    }
  }
}
