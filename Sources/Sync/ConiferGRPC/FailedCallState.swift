#if GRPC
  import ConiferWire

  /// How a call stood when it failed.
  struct FailedCallState: Sendable {
    /// Whether it was under way: what keeps it from that is never the server's answer.
    let wasOpened: Bool
    /// Whether the connection is sound: `unavailable` is the server's own answer then.
    let isConnected: Bool

    init(_ opening: CallOpening) async {
      wasOpened = opening.isOver
      isConnected = await opening.isConnected
    }

    /// Whether a failure tells that the connection is of no use any more.
    func isBroken(_ failure: StatusError) -> Bool {
      !wasOpened || (failure.code == .unavailable && !isConnected)
    }
  }
#endif
