/// A transport to a server of documents: within the process, or over a network.
///
/// A server within the process gives one, and a module that speaks to servers over a network.
public struct DocumentTransport: Sendable, CustomStringConvertible {
  /// The server that it leads to.
  package let service: any DocumentService
  private let other: @Sendable (_ host: String, _ isSecure: Bool) -> DocumentTransport?
  private let watch: @Sendable (@escaping @Sendable () -> Void) -> (any NetworkWatch)?
  /// Where it leads, for people and logs; holds no secret.
  public let description: String

  /// A way to a server.
  ///
  /// - Parameters:
  ///   - service: the server.
  ///   - description: where it leads, without any secret.
  ///   - other: the way of the same kind to another host; nil for none, as within the process.
  ///   - watch: what `watchNetwork` does.
  package init(
    _ service: any DocumentService, description: String,
    leadingTo other: @escaping @Sendable (String, Bool) -> DocumentTransport? = { _, _ in nil },
    watchingNetwork watch:
      @escaping @Sendable (@escaping @Sendable () -> Void) -> (
        any NetworkWatch
      )? = { _ in nil }
  ) {
    self.service = service
    self.description = description
    self.other = other
    self.watch = watch
  }

  /// Begins to report when the network may have returned, so that a client can open its streams before the delay of
  /// its next attempt ends; nil when that cannot be known.
  ///
  /// - Parameter returned: called each time, on any thread; it returns quickly.
  package func watchNetwork(
    _ returned: @escaping @Sendable () -> Void
  ) -> (any NetworkWatch)? { watch(returned) }

  /// A transport of the same kind to another host; nil when there is none.
  ///
  /// - Parameters:
  ///   - host: the host, with its port if it is not the usual one.
  ///   - isSecure: whether its connections are to be encrypted.
  public func leading(to host: String, isSecure: Bool) -> DocumentTransport? {
    other(host, isSecure)
  }
}
