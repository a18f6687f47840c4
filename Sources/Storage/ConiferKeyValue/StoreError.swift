/// An error of a store, with a code to act on, a message that says the remedy, and the cause.
///
/// Absence is never an error: it is `nil`.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, by a stable name that programs may compare.
  public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The code's stable name.
    public let rawValue: String

    /// The code with a stable name; new ones may be added in later versions.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Another holder prevents the call for now: another process or opener owns the store, or an
    /// open view keeps it from growing.
    public static let busy = Code(rawValue: "busy")
    /// The operating system denies access to the files.
    public static let denied = Code(rawValue: "denied")
    /// The files cannot be read until the device is unlocked.
    public static let deviceLocked = Code(rawValue: "device-locked")
    /// The disk or the quota is full; reading, evicting and draining still work.
    public static let full = Code(rawValue: "full")
    /// The operating system reported an I/O error.
    public static let io = Code(rawValue: "io")
    /// A sync or write failed earlier; nothing may be committed until the store is reopened.
    public static let poisoned = Code(rawValue: "poisoned")
    /// Stored bytes are not what was written.
    public static let damaged = Code(rawValue: "damaged")
    /// The store was written by a newer version of Conifer.
    public static let newerFormat = Code(rawValue: "newer-format")
    /// There is no store at the place; who only reads does not make one.
    public static let missing = Code(rawValue: "missing")
    /// The files belong to something that is not this kind of store.
    public static let foreign = Code(rawValue: "foreign")
    /// The encryption key does not fit the store.
    public static let wrongKey = Code(rawValue: "wrong-key")
    /// A key, value or batch is larger than the store accepts.
    public static let tooLarge = Code(rawValue: "too-large")
    /// The call was invalid; nothing was changed.
    public static let invalid = Code(rawValue: "invalid")
    /// The store was closed.
    public static let closed = Code(rawValue: "closed")
    /// The store is suspended until `resume()`.
    public static let suspended = Code(rawValue: "suspended")
    /// The store cannot do this at all; its traits say so.
    public static let unsupported = Code(rawValue: "unsupported")

    /// The code's stable name.
    public var description: String { rawValue }
  }

  /// The space and the key of the record that an error is about.
  public struct Place: Hashable, Sendable {
    /// The number of the record's space.
    public let space: UInt8
    /// The record's key, without the space byte.
    public let key: Bytes

    /// Which record an error is about.
    public init(space: UInt8, key: Bytes) {
      self.space = space
      self.key = key
    }
  }

  // Boxed, so that a typed throw copies only two words.
  private final class Detail: Sendable {
    let message: String
    let cause: String?
    let place: Place?
    let found: Bytes?
    init(message: String, cause: String?, place: Place?, found: Bytes?) {
      self.message = message
      self.cause = cause
      self.place = place
      self.found = found
    }
  }

  /// What went wrong.
  public let code: Code
  private let detail: Detail

  /// A message with the cause and the remedy.
  public var message: String { detail.message }
  /// The error underneath, for example the operating system's, if there was one.
  public var cause: String? { detail.cause }
  /// The record that the error is about, if it is about one.
  public var place: Place? { detail.place }
  /// The damaged bytes of the record's value, as far as they can be read.
  public var found: Bytes? { detail.found }

  /// An error.
  ///
  /// - Parameters:
  ///   - code: what went wrong.
  ///   - message: one or two sentences: what happened, and what to do about it.
  ///   - cause: the error underneath, for example the operating system's words.
  ///   - place: the record that the error is about.
  ///   - found: the damaged bytes of its value.
  public init(
    _ code: Code, _ message: String, cause: String? = nil, place: Place? = nil,
    found: Bytes? = nil
  ) {
    self.code = code
    self.detail = Detail(message: message, cause: cause, place: place, found: found)
  }

  /// The code, the message and the cause in one line.
  public var description: String {
    if let cause { return "\(code): \(message) (\(cause))" }
    return "\(code): \(message)"
  }
}
