import Foundation

/// What differs between operating systems, or is asked of them.
enum Platform {
  /// The device's time in milliseconds since 1970.
  static var wallTime: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  /// Whether a number was made of a boolean; its class says so on no system.
  static func isBool(_ number: NSNumber) -> Bool {
    // There is one object for each of the two, on every system.
    number === NSNumber(value: true) || number === NSNumber(value: false)
  }
}
