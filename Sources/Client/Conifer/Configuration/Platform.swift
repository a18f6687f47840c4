import Foundation

/// What differs between operating systems.
enum Platform {
  /// Whether a number was made of a boolean; its class says so on no system.
  static func isBool(_ number: NSNumber) -> Bool {
    // There is one object for each of the two, on every system.
    number === NSNumber(value: true) || number === NSNumber(value: false)
  }
}
