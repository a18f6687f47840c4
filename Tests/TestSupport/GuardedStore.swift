package import ConiferKeyValue
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Holds whoever calls a store to its rule: one thread at a time calls everything but views, sizes and
/// checks. It does by hand what a sanitizer for threads would, and gives the others time to come.
package final class GuardedStore<Base: OrderedStore>: OrderedStore {
  package let base: Base
  package var traits: StoreTraits { base.traits }
  private let inside = Mutex<[String]>([])
  private let state = Mutex<(broken: [String], calls: Int)>(([], 0))
  private let willApply: @Sendable (Batch) throws(StoreError) -> Void

  /// - Parameter willApply: called before each batch, on the thread that applies it; what it throws keeps the batch from
  ///   being applied.
  package init(
    _ base: Base, willApply: @escaping @Sendable (Batch) throws(StoreError) -> Void = { _ in }
  ) {
    self.base = base
    self.willApply = willApply
  }

  /// Which calls met others, in words.
  package var broken: [String] { state.withLock { $0.broken } }
  /// How many calls came that only one thread at a time may make.
  package var calls: Int { state.withLock { $0.calls } }

  private func alone<R>(
    _ name: String, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let other = inside.withLock { inside in
      defer { inside.append(name) }
      return inside.last
    }
    state.withLock { state in
      state.calls += 1
      if let other { state.broken.append("\(name) beside \(other)") }
    }
    defer { inside.withLock { inside in inside.removeAll { $0 == name } } }
    sched_yield()
    let result = try body()
    sched_yield()
    guard other == nil else { throw StoreError(.invalid, "Two threads called the store at once.") }
    return result
  }

  package func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try willApply(batch)
    return try alone("apply") { () throws(StoreError) in try base.apply(batch, durability) }
  }
  package func harden(_ upTo: CommitID) throws(StoreError) {
    try alone("harden") { () throws(StoreError) in try base.harden(upTo) }
  }
  package func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try alone("tidy") { () throws(StoreError) in try base.tidy(slice) }
  }
  package func suspend() throws(StoreError) {
    try alone("suspend") { () throws(StoreError) in try base.suspend() }
  }
  package func resume() throws(StoreError) {
    try alone("resume") { () throws(StoreError) in try base.resume() }
  }
  package func close() throws(StoreError) {
    try alone("close") { () throws(StoreError) in try base.close() }
  }
  package func acknowledgeFindings() throws(StoreError) {
    try alone("acknowledgeFindings") { () throws(StoreError) in try base.acknowledgeFindings() }
  }
  package func view() throws(StoreError) -> any OrderedView { try base.view() }
  package func size() throws(StoreError) -> StoreSize { try base.size() }
  package var findings: [StoreFinding] { base.findings }
  package func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    try base.verify(found)
  }
}
