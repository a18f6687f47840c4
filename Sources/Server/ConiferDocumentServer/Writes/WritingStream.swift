import ConiferWire

/// A stream of writes, as the server sees it.
struct WritingStream: Sendable {
  enum State: Sendable {
    /// The client has not greeted yet.
    case opened
    /// It sends batches, under a name that outlasts the stream. Batches that were made before and whose answers the
    /// client does not have are recognised when they come again. `start` is the number of the last batch before it.
    case greeted(UInt64, known: [DeduplicationLog.Batch], start: Int64)
  }

  let caller: Caller
  let deliver: @Sendable (WriteStreamEvent) -> Void
  var state = State.opened

  /// The name that outlasts the stream; nil until the client has greeted.
  var name: UInt64? {
    guard case .greeted(let name, _, _) = state else { return nil }
    return name
  }

  init(_ caller: Caller, _ deliver: @escaping @Sendable (WriteStreamEvent) -> Void) {
    self.caller = caller
    self.deliver = deliver
  }
}
