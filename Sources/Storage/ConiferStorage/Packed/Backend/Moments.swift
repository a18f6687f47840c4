import Synchronization

/// A state of a store between two changes.
struct Moment: Sendable, Equatable {
  /// Its number.
  let number: UInt64
  /// The moment since which no data has changed, nor the list of trees.
  let since: UInt64

  /// Whether data that was seen at a moment, by its number, is the same now.
  func sees(_ other: UInt64) -> Bool { other >= since && other <= number }
}

/// Tells readers which state of a store they see, so that what was seen before need not be asked of
/// the store again.
///
/// A number goes up before and after each change: who reads the same even one before and after
/// opening a view knows the view's moment. Changes come one at a time.
final class Moments: Sendable {
  /// Odd while a change is under way, and while the store is let go of.
  private let number = Atomic<UInt64>(2)
  private let since = Atomic<UInt64>(2)
  private let isStopped = Atomic(false)

  /// What is seen now; nil when it changes at this instant.
  var current: Moment? {
    let now = number.load(ordering: .acquiring)
    guard now & 1 == 0 else { return nil }
    let moment = Moment(number: now, since: since.load(ordering: .acquiring))
    return isCurrent(moment) ? moment : nil
  }

  func isCurrent(_ moment: Moment) -> Bool { number.load(ordering: .acquiring) == moment.number }

  /// Says that a change begins.
  func begin() {
    number.store(number.load(ordering: .relaxed) | 1, ordering: .sequentiallyConsistent)
  }

  /// Says that a change is over.
  ///
  /// - Parameter changesData: whether data or the list of trees may be others now.
  func end(changesData: Bool) {
    let next = (number.load(ordering: .relaxed) | 1) + 1
    if changesData { since.store(next, ordering: .releasing) }
    guard !isStopped.load(ordering: .relaxed) else { return }
    number.store(next, ordering: .sequentiallyConsistent)
  }

  /// There is no moment any more until `resume`: the store is let go of.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    begin()
  }

  /// The store was taken again, and may hold anything.
  func resume() {
    isStopped.store(false, ordering: .relaxed)
    end(changesData: true)
  }
}
