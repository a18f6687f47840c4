/// The codes that servers of documents answer with, as gRPC numbers them.
package enum StatusCode: Int, Sendable, Hashable, CaseIterable {
  case ok
  case cancelled
  case unknown
  case invalidArgument
  case deadlineExceeded
  case notFound
  case alreadyExists
  case permissionDenied
  case resourceExhausted
  case failedPrecondition
  case aborted
  case outOfRange
  case unimplemented
  case `internal`
  case unavailable
  case dataLoss
  case unauthenticated

  /// Whether the same request would be refused again.
  package var isPermanent: Bool {
    switch self {
    case .ok, .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .internal,
      .unavailable, .unauthenticated:
      false
    case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition,
      .aborted, .outOfRange, .unimplemented, .dataLoss:
      true
    }
  }

  /// Whether a write that was refused with this code is refused for good; an aborted one is tried again.
  package var isPermanentForWrites: Bool { isPermanent && self != .aborted }
}

/// Why a listen, a get or a write failed: the server's code, and what to do about it in words.
package struct StatusError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The code.
  package let code: StatusCode
  /// What went wrong in words.
  package let message: String

  /// An error.
  package init(_ code: StatusCode, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The code and the message in one line.
  package var description: String { "\(code): \(message)" }
}
