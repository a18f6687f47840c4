/// A listener's number; never given twice in a process.
package struct ListenerID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// The listener with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}
