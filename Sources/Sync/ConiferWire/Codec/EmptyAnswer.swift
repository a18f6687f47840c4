/// What stands for the data of an answer that has none, as the Realtime Database's servers write it.
public enum EmptyAnswer: Hashable, Sendable {
  /// `{}`: of a listen, as some clients take nothing else there.
  case object
  /// `""`: of what only does something.
  case text
  /// `null`: of a read.
  case null
}

extension Request {
  /// What stands for the data of an answer to it that has none.
  public var emptyAnswer: EmptyAnswer {
    switch self {
    case .listen, .authenticate: .object
    case .get: .null
    case .put, .merge, .unlisten, .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel,
      .unauthenticate, .appCheck, .stats:
      .text
    }
  }
}
