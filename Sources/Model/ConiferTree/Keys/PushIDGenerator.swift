/// A generator of keys that sort by the time at which they were made.
///
/// A push id has twenty characters: eight for the time, twelve random. Within one millisecond the
/// random part counts up, as in the Realtime Database's push ids; it also counts up while a clock
/// that was set back by up to a minute catches up. Keep one generator for each clock, and read the
/// clock under the generator's lock.
public struct PushIDGenerator: Sendable {
  private static let alphabet = [UInt8](
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

  /// By how many milliseconds a clock may be set back.
  private static let patience: Int64 = 60_000

  /// The latest time that a key was asked for since the clock was last set.
  private var last: Int64?
  /// The time in the last key.
  private var stamp: Int64 = 0
  private var digits = [UInt8](repeating: 0, count: 12)

  /// A generator that has not made a key.
  public init() {}

  /// A new key.
  ///
  /// - Parameters:
  ///   - milliseconds: the server's time in milliseconds since 1970; its low 48 bits count.
  ///   - random: the source of the random part.
  public mutating func next(
    at milliseconds: Int64, using random: inout some RandomNumberGenerator
  ) -> Key {
    if let last, milliseconds <= last, milliseconds >= last &- Self.patience {
      advance()
    } else {
      last = milliseconds
      stamp = milliseconds
      for i in digits.indices { digits[i] = UInt8.random(in: 0..<64, using: &random) }
    }
    var text: [UInt8] = []
    text.reserveCapacity(20)
    for shift in stride(from: 42, through: 0, by: -6) {
      text.append(PushIDGenerator.alphabet[Int(stamp >> Int64(shift)) & 63])
    }
    for digit in digits { text.append(PushIDGenerator.alphabet[Int(digit)]) }
    return Key(String(decoding: text, as: UTF8.self))
  }

  /// A new key with a random part from the system.
  ///
  /// - Parameter milliseconds: the server's time in milliseconds since 1970.
  public mutating func next(at milliseconds: Int64) -> Key {
    var random = SystemRandomNumberGenerator()
    return next(at: milliseconds, using: &random)
  }

  /// Adds one to the random part, with carry up into the time.
  private mutating func advance() {
    for i in digits.indices.reversed() {
      if digits[i] < 63 {
        digits[i] += 1
        return
      }
      digits[i] = 0
    }
    stamp &+= 1
  }
}
