import ConiferStorage

/// Those who are told when a queue or a cache passes a limit. While there is nobody, nothing is measured.
///
/// What is told follows the edge: over once a value is above its limit, under once it is down to nine tenths of that or less,
/// so that a queue which is sent as fast as it is filled is not told with every write.
package final class UsageWatch {
  private final class Observer {
    let observation: UsageObservation
    let limits: UsageLimits
    let told: @Sendable (UsageChange) -> Void
    var over: Set<UsageChange.Measure> = []

    init(
      _ observation: UsageObservation, _ limits: UsageLimits,
      _ told: @escaping @Sendable (UsageChange) -> Void
    ) {
      self.observation = observation
      self.limits = limits
      self.told = told
    }
  }

  private var observers: [Observer] = []
  private let storage: EngineStorage
  private let outbox: Outbox
  /// Has `look` called on the engine's thread.
  private let postLook: @Sendable () -> Void
  /// Whether the storage says when it has evicted.
  private var hearsOfEvictions = false

  package init(
    _ storage: EngineStorage, _ outbox: Outbox, postLook: @escaping @Sendable () -> Void
  ) {
    self.storage = storage
    self.outbox = outbox
    self.postLook = postLook
  }

  /// Begins to tell somebody.
  package func begin(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void
  ) {
    guard observation.isOn, !storage.hasEnded else { return }
    observers.append(Observer(observation, limits, told))
    hearOfEvictions()
  }

  /// Forgets those who are told no longer.
  package func removeEnded() {
    observers.removeAll { !$0.observation.isOn }
    hearOfEvictions()
  }

  /// Forgets everybody: a closure may hold the database.
  package func end() {
    observers = []
    hearOfEvictions()
  }

  /// Tells who is to be told by what the queue and the cache take now; asks for that only when somebody wants it.
  package func look(_ totals: () -> Result<PendingWriteTotals, DatabaseError>) {
    guard !observers.isEmpty else { return }
    let wanted = Set(observers.flatMap { $0.limits.all.map(\.measure) })
    var values: [UsageChange.Measure: Int] = [:]
    // What cannot be read now may be read later.
    if !wanted.isDisjoint(with: [.pendingWrites, .queueBytes]),
      case .success(let totals) = totals()
    {
      (values[.pendingWrites], values[.queueBytes]) = (totals.pending, totals.bytes)
    }
    if wanted.contains(.cacheBytes) { values[.cacheBytes] = storage.cacheBytes }
    for observer in observers { tell(observer, values) }
  }

  private func tell(_ observer: Observer, _ values: [UsageChange.Measure: Int]) {
    for (measure, limit) in observer.limits.all {
      guard let value = values[measure] else { continue }
      let wasOver = observer.over.contains(measure)
      // A tenth, rounded up: also small limits have a margin.
      let margin = limit / 10 + (limit % 10).signum()
      let isOver = wasOver ? value > limit - margin : value > limit
      guard isOver != wasOver else { continue }
      if isOver { observer.over.insert(measure) } else { observer.over.remove(measure) }
      let change = UsageChange(measure: measure, limit: limit, value: value, isOver: isOver)
      outbox.addCall { [observation = observer.observation, told = observer.told] in
        if observation.isOn { told(change) }
      }
    }
  }

  /// Has the storage say when it has evicted, as no step of the engine follows that, while somebody has a limit for the cache.
  private func hearOfEvictions() {
    let isWanted = observers.contains { $0.limits.cacheBytes != nil }
    guard isWanted != hearsOfEvictions, let backend = storage.cachingBackend as? any TellsEvictions
    else { return }
    hearsOfEvictions = isWanted
    backend.observeEvictions(isWanted ? postLook : nil)
  }
}
