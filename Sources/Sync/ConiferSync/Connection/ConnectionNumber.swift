/// The number of a connection; never given twice by one machine.
package struct ConnectionNumber: Hashable, Comparable, Sendable {
  /// The number, from 1.
  package let rawValue: UInt64

  /// The connection with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders connections by the time of their beginning.
  package static func < (a: ConnectionNumber, b: ConnectionNumber) -> Bool {
    a.rawValue < b.rawValue
  }
}
