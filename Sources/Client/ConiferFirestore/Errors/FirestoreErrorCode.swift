/// The name that ``FirestoreError`` has in the Apple SDK: `error as? FirestoreErrorCode`, and
/// `catch FirestoreErrorCode.unavailable`.
public typealias FirestoreErrorCode = FirestoreError

// The codes, by the names that they have in the Apple SDK.
extension FirestoreError {
  /// The kind of error, with the numbers of the Apple SDK, which are those of gRPC.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    /// No error.
    case OK = 0
    /// It was given up, such as by a cancelled task or a change of user.
    case cancelled
    /// The cause is not known.
    case unknown
    /// What was asked for is invalid, whatever the state of the system.
    case invalidArgument
    /// It took too long.
    case deadlineExceeded
    /// The document is not there.
    case notFound
    /// The document is there already.
    case alreadyExists
    /// The server does not allow it.
    case permissionDenied
    /// A quota or a disk is full.
    case resourceExhausted
    /// The state of the client or of the database does not allow it.
    case failedPrecondition
    /// It collided with another write; trying again may help.
    case aborted
    /// It lies behind the end of what is allowed.
    case outOfRange
    /// The server or the storage does not offer it.
    case unimplemented
    /// Something is broken.
    case `internal`
    /// The server cannot be reached, and what is here is not enough.
    case unavailable
    /// Data is lost or damaged.
    case dataLoss
    /// The server does not know who asks.
    case unauthenticated
  }

  /// See ``Code/OK``.
  public static let OK = Code.OK
  /// See ``Code/cancelled``.
  public static let cancelled = Code.cancelled
  /// See ``Code/unknown``.
  public static let unknown = Code.unknown
  /// See ``Code/invalidArgument``.
  public static let invalidArgument = Code.invalidArgument
  /// See ``Code/deadlineExceeded``.
  public static let deadlineExceeded = Code.deadlineExceeded
  /// See ``Code/notFound``.
  public static let notFound = Code.notFound
  /// See ``Code/alreadyExists``.
  public static let alreadyExists = Code.alreadyExists
  /// See ``Code/permissionDenied``.
  public static let permissionDenied = Code.permissionDenied
  /// See ``Code/resourceExhausted``.
  public static let resourceExhausted = Code.resourceExhausted
  /// See ``Code/failedPrecondition``.
  public static let failedPrecondition = Code.failedPrecondition
  /// See ``Code/aborted``.
  public static let aborted = Code.aborted
  /// See ``Code/outOfRange``.
  public static let outOfRange = Code.outOfRange
  /// See ``Code/unimplemented``.
  public static let unimplemented = Code.unimplemented
  /// See ``Code/internal``.
  public static let `internal` = Code.internal
  /// See ``Code/unavailable``.
  public static let unavailable = Code.unavailable
  /// See ``Code/dataLoss``.
  public static let dataLoss = Code.dataLoss
  /// See ``Code/unauthenticated``.
  public static let unauthenticated = Code.unauthenticated
}

/// Whether an error is one of the client's with a code, for `catch` and `case`.
public func ~= (code: FirestoreError.Code, error: any Error) -> Bool {
  (error as? FirestoreError)?.code == code
}
