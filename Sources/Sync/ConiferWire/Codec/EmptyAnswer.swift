/// The placeholder for missing data in an answer, as the Realtime Database's servers write it.
package enum EmptyAnswer: Hashable, Sendable {
  /// `{}`: a listen; some clients accept nothing else there.
  case object
  /// `""`: a request that only changes something.
  case text
  /// `null`: a read.
  case null
}

extension Request {
  /// The placeholder in the answer to this request.
  package var emptyAnswer: EmptyAnswer {
    switch self {
    case .listen, .authenticate: .object
    case .get: .null
    case .put, .merge, .unlisten, .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel,
      .unauthenticate, .appCheck, .stats:
      .text
    }
  }
}
