/// The position of a local write in the order of all local writes.
///
/// A queued write has its number in the lane and step 0. A write that is not queued, such as a
/// transaction's, has the number of the last queued write before it and a step from 1.
package struct OverlayID: Hashable, Comparable, Sendable {
  /// The number in the lane.
  package let number: UInt64
  /// The counter of writes that are not queued.
  package let step: UInt64

  /// The position of a local write.
  package init(_ number: UInt64, _ step: UInt64 = 0) {
    self.number = number
    self.step = step
  }

  /// Orders writes as they were made.
  package static func < (a: OverlayID, b: OverlayID) -> Bool {
    (a.number, a.step) < (b.number, b.step)
  }
}
