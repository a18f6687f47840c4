#if Network
  import NIOCore

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  extension NIOBSDSocket.Option {
    /// The seconds of silence before the system asks whether the other side is there.
    static var keepAliveIdle: NIOBSDSocket.Option {
      #if canImport(Darwin)
        NIOBSDSocket.Option(rawValue: TCP_KEEPALIVE)
      #else
        NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
      #endif
    }

    /// The seconds between two questions.
    static var keepAliveInterval: NIOBSDSocket.Option {
      NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    }

    /// How many questions are asked in vain.
    static var keepAliveCount: NIOBSDSocket.Option { NIOBSDSocket.Option(rawValue: TCP_KEEPCNT) }
  }
#endif
