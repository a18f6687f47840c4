#if WebSocket
  public import Conifer

  extension Database {
    /// Uses your own server, unencrypted, such as `conifer serve` on this machine.
    ///
    /// Call it before the database is used; later it changes nothing, and is logged as an error.
    ///
    /// - Parameters:
    ///   - host: its name or address, such as `localhost`.
    ///   - port: its port.
    public func useEmulator(withHost host: String, port: Int) {
      let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
      configure("useEmulator") { configuration in
        configuration.host = "\(name):\(port)"
        configuration.isSecure = false
        configuration.transport = .webSocket("ws://\(name):\(port)")
      }
    }
  }
#endif
