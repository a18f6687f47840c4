#if GRPC
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore

  extension StatusError {
    /// What a call failed with.
    ///
    /// - Parameters:
    ///   - error: what was thrown.
    ///   - address: where the call went.
    ///   - state: how it stood then.
    ///   - unreadable: the code for what cannot be read.
    init(
      _ error: any Error, at address: String, _ state: FailedCallState? = nil,
      unreadable: StatusCode = .internal
    ) {
      let wasOpened = state?.wasOpened ?? true
      switch error {
      case let error as StatusError: self = error
      case let error as ProtoError:
        self.init(unreadable, "What the server sent cannot be read: \(error)")
      case is CancellationError: self.init(.cancelled, "The call was cancelled.")
      case let error as RPCError where wasOpened:
        let code = StatusCode(rawValue: error.code.rawValue) ?? .unknown
        let isLost = code == .unavailable && state?.isConnected != true
        self.init(code, isLost ? Self.lost(address, error) : error.message)
      case let error as RPCError where error.code == .deadlineExceeded:
        self.init(.deadlineExceeded, "The server did not answer in time.")
      case let error as RPCError where error.code == .cancelled:
        self.init(.cancelled, "The call was cancelled.")
      default: self.init(.unavailable, Self.lost(address, error))
      }
    }

    private static func lost(_ address: String, _ error: any Error) -> String {
      var causes: [String] = []
      var next: (any Error)? = error
      while let error = next, causes.count < 5 {
        guard let known = error as? RPCError else {
          causes.append("\(error)")
          break
        }
        causes.append(known.message)
        next = known.cause
      }
      return "The server at \(address) cannot be reached, or the connection was lost. The client "
        + "tries again by itself. \(causes.joined(separator: ": "))"
    }
  }
#endif
