/// What an answer without data has in place of it, as the Realtime Database's servers write it.
package enum EmptyAnswer: Hashable, Sendable {
  /// `{}`: a listen; some clients accept nothing else there.
  case object
  /// `""`: a request that only changes something.
  case text
  /// `null`: a read.
  case null
}

extension Request {
  /// What an answer to it has in place of data.
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
