/// The policy for a sent, unanswered write that might count twice if it were sent again, such as an
/// increment. It applies when the connection or the process ended after the write was sent and
/// before its answer came.
///
/// All other writes are sent again: they end in the same place.
public enum UnknownOutcome: Hashable, Sendable {
  /// It is sent again, in its place, as by the Realtime Database's SDKs; it may count twice.
  case sendAgain
  /// It is not sent again: it waits among the refused writes, with the code `outcome-unknown`, until
  /// the app, which may look at the place, retries or discards it. It counts at most once.
  case leaveToApp
}
