// Settings as the Apple SDK has them. Changes after the first use have no effect and are logged as
// errors; reading a setting gives the value in use.
extension Firestore {
  /// The settings: a copy, which counts once it is assigned.
  public var settings: FirestoreSettings {
    get { FirestoreSettings(configuration) }
    set {
      configure("settings") { (configuration) throws(FirestoreError) in
        try newValue.apply(to: &configuration)
      }
    }
  }

  /// Leads to a server on a host without encryption, such as an emulator.
  ///
  /// The configuration's transport must lead to other hosts; one within the process leads to none, and
  /// the database stays offline then, which is logged.
  ///
  /// - Parameters:
  ///   - host: the host's name or address, such as `localhost`.
  ///   - port: the port.
  public func useEmulator(withHost host: String, port: Int) {
    configure("useEmulator") { (configuration) throws(FirestoreError) in
      guard !host.isEmpty, (1...65_535).contains(port) else {
        throw FirestoreError(
          .invalidArgument,
          "'\(host)' and port \(port) name no host. Give a name and a port from 1 to 65535.")
      }
      // Brackets separate an IPv6 address from its port.
      let isBare = host.contains(":") && !host.hasPrefix("[")
      configuration.host = isBare ? "[\(host)]:\(port)" : "\(host):\(port)"
      configuration.isSecure = false
    }
  }
}
