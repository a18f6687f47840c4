import Foundation

/// What differs between operating systems.
enum Platform {
  /// Whether a number was made from a `Bool`. No public subclass of `NSNumber` tells.
  static func isBool(_ number: NSNumber) -> Bool {
    // On every system all numbers made from `true` are one object, and so are those from `false`.
    number === NSNumber(value: true) || number === NSNumber(value: false)
  }
}
