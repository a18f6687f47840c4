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
    /// The seconds of silence before the first keep-alive probe.
    static var keepAliveIdle: NIOBSDSocket.Option {
      #if canImport(Darwin)
        NIOBSDSocket.Option(rawValue: TCP_KEEPALIVE)
      #else
        NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
      #endif
    }

    /// The seconds between two probes.
    static var keepAliveInterval: NIOBSDSocket.Option {
      NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    }

    /// The number of unanswered probes that end a connection.
    static var keepAliveCount: NIOBSDSocket.Option { NIOBSDSocket.Option(rawValue: TCP_KEEPCNT) }
  }
#endif
