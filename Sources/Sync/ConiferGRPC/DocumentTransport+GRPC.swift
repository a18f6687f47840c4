#if GRPC
  public import ConiferDocument
  public import ConiferEngine
  import ConiferNetworkWatch
  public import ConiferWire

  extension DocumentTransport {
    /// The host of the vendor's service.
    public static let googleHost = "firestore.googleapis.com"

    /// A way over gRPC to a server that speaks Firestore's protocol: the vendor's service, its emulator, or
    /// another.
    ///
    /// Copies share one connection, which is made when it is first needed. `Firestore.useEmulator` and the settings' host
    /// lead it elsewhere. A host that is none leaves every stream closed, with a message that says so.
    ///
    /// - Parameters:
    ///   - database: the database, as the configuration names it.
    ///   - host: the host, with its port if it is not 443, or 80 without encryption.
    ///   - isSecure: whether connections are encrypted.
    ///   - options: times, trust and headers.
    ///   - appCheckProvider: where tokens of the app itself come from, such as those of Firebase's App Check; nil for none.
    public static func grpc(
      to database: DatabaseID, host: String = googleHost, isSecure: Bool = true,
      options: GRPCOptions = GRPCOptions(), appCheckProvider: (any AppCheckProvider)? = nil
    ) -> DocumentTransport {
      grpc(to: database, host, isSecure, options, appCheckProvider.map { AppCheckTokens($0) })
    }

    private static func grpc(
      to database: DatabaseID, _ host: String, _ isSecure: Bool, _ options: GRPCOptions,
      _ appTokens: AppCheckTokens?
    ) -> DocumentTransport {
      let service: any DocumentService
      let address = GRPCAddress(host, isSecure: isSecure)
      if let address {
        service = GRPCService(database, at: address, options, appTokens: appTokens)
      } else {
        service = UnreachableService(host)
      }
      return DocumentTransport(
        service, description: address.map { "\($0)" } ?? host,
        leadingTo: { DocumentTransport.grpc(to: database, $0, $1, options, appTokens) },
        watchingNetwork: { SystemNetworkWatch($0) })
    }
  }

  /// What a host that is none leads to.
  private struct UnreachableService: DocumentService {
    private let error: StatusError

    init(_ host: String) {
      error = StatusError(
        .unavailable,
        "\"\(host.prefix(200))\" is no host: write it like example.com or localhost:8080.")
    }

    func openWatch(
      token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
    ) -> any WatchStream {
      Task { receive(.closed(error)) }
      return ClosedStream()
    }

    func openWrites(
      token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
    ) -> any WriteStream {
      Task { receive(.closed(error)) }
      return ClosedStream()
    }

    func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
      throw error
    }

    func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
      throw error
    }

    func aggregate(
      _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
    ) async throws(StatusError) -> [DocumentValue] { throw error }
  }

  private final class ClosedStream: WatchStream, WriteStream {
    func add(_ target: WatchTarget) {}
    func remove(_ target: TargetID) {}
    func greet(token: [UInt8]) {}
    func send(_ writes: [Mutation], batch: Int64?, token: [UInt8]) {}
    func close() {}
  }
#endif
