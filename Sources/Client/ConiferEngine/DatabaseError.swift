public import ConiferKeyValue

/// An error of a client's call, with a code to act on, a message, and the remedy.
///
/// Calls that bear the Apple SDK's names hand it to a completion block, a cancel block or a receipt;
/// the async forms throw it.
public struct DatabaseError: Error, Sendable {
  /// The kind of error, by a stable name that programs may compare.
  public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The code's stable name.
    public let rawValue: String

    /// The code with a stable name; new ones may be added in later versions.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The code's stable name.
    public var description: String { rawValue }
  }

  // Boxed, so that a typed throw moves two words.
  private final class Detail: Sendable {
    let message: String
    let remedy: String?
    let cause: String?

    init(message: String, remedy: String?, cause: String?) {
      self.message = message
      self.remedy = remedy
      self.cause = cause
    }
  }

  /// What went wrong.
  public let code: Code
  private let detail: Detail

  /// What went wrong in words.
  public var message: String { detail.message }
  /// What to do about it; nil when the message says it, and for codes of later versions.
  public var remedy: String? { detail.remedy ?? code.remedy }
  /// The error underneath, such as the server's or the storage's words, if there was one.
  public var cause: String? { detail.cause }

  /// An error.
  ///
  /// - Parameters:
  ///   - code: what went wrong.
  ///   - message: what happened, in one or two sentences.
  ///   - remedy: what to do about it; nil for what is usual for the code.
  ///   - cause: the error underneath.
  public init(_ code: Code, _ message: String, remedy: String? = nil, cause: String? = nil) {
    self.code = code
    self.detail = Detail(message: message, remedy: remedy, cause: cause)
  }
}

extension DatabaseError: CustomStringConvertible {
  /// The code, the message and the cause in one line.
  public var description: String {
    cause.map { "\(code): \(message) (\($0))" } ?? "\(code): \(message)"
  }
}

extension DatabaseError: Hashable {
  /// Whether code and message are the same.
  public static func == (a: DatabaseError, b: DatabaseError) -> Bool {
    a.code == b.code && a.message == b.message
  }
  /// Feeds code and message.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension DatabaseError {
  /// The error for what a store refused.
  ///
  /// - Parameters:
  ///   - error: the store's error.
  ///   - what: what was not done, as the beginning of a sentence, such as `The write was not queued`.
  public init(_ error: StoreError, _ what: String = "The storage failed") {
    let code: Code =
      switch error.code {
      case .full: .storageFull
      case .busy: .storageBusy
      case .missing: .storageMissing
      case .damaged: .storageDamaged
      case .closed: .closed
      case .tooLarge: .tooLarge
      default: .storageFailure
      }
    self.init(code, "\(what): \(error.message)", cause: error.description)
  }
}
