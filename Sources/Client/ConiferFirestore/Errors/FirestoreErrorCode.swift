/// The codes of errors, with the numbers of the Apple SDK, which are those of gRPC.
public enum FirestoreErrorCode {
  /// One code.
  public enum Code: Int, Sendable, Hashable, CaseIterable {
    /// No error.
    case OK = 0
    /// It was given up, such as by a cancelled task or a change of user.
    case cancelled
    /// Nobody knows.
    case unknown
    /// What was asked for makes no sense, whatever the state of the system.
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
    /// It is not there.
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
}
