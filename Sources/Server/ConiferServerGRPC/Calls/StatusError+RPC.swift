#if GRPC
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore

  extension StatusError {
    /// Why requests of a stream are read no more.
    init(reading error: any Error) {
      switch error {
      case let error as StatusError: self = error
      case let error as ProtoError:
        self.init(.invalidArgument, "The request cannot be read: \(error)")
      case let error as RPCError:
        self.init(StatusCode(rawValue: error.code.rawValue) ?? .unknown, error.message)
      default: self.init(.cancelled, "The call was cancelled.")
      }
    }
  }

  extension RPCError {
    /// What a call is answered that failed.
    init(answering error: any Error) {
      if let error = error as? RPCError {
        self = error
        return
      }
      let error = StatusError(reading: error)
      self.init(code: RPCError.Code(error.code), message: error.message)
    }
  }

  extension RPCError.Code {
    fileprivate init(_ code: StatusCode) {
      self =
        switch code {
        case .ok, .unknown: .unknown
        case .cancelled: .cancelled
        case .invalidArgument: .invalidArgument
        case .deadlineExceeded: .deadlineExceeded
        case .notFound: .notFound
        case .alreadyExists: .alreadyExists
        case .permissionDenied: .permissionDenied
        case .resourceExhausted: .resourceExhausted
        case .failedPrecondition: .failedPrecondition
        case .aborted: .aborted
        case .outOfRange: .outOfRange
        case .unimplemented: .unimplemented
        case .internal: .internalError
        case .unavailable: .unavailable
        case .dataLoss: .dataLoss
        case .unauthenticated: .unauthenticated
        }
    }
  }
#endif
