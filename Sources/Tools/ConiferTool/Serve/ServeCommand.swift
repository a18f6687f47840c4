#if Network
  import ArgumentParser
  import ConiferDocumentServer
  import ConiferServer
  import ConiferServerGRPC
  import ConiferServerHTTP
  import ConiferStorage
  import Logging
  import ServiceLifecycle
  import UnixSignals

  /// Serves databases to clients of the Realtime Database's protocol, and documents by Firestore's REST API and over gRPC.
  struct ServeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "serve",
      abstract:
        "Serve databases: WebSockets, REST, event streams, a page and documents, at one port; and documents over gRPC.",
      discussion: """
        Prints its address when it is ready, and serves until it is interrupted. Data is in memory \
        unless --store names a store. Without keys for tokens it takes everybody at their word, as \
        local emulators do: it is for this machine and for tests.

        Examples:
          conifer serve
          conifer serve --store sqlite:///var/data --rules rules.json
          conifer serve --port 0 --namespace test
          conifer serve --host 0.0.0.0 --rules rules.json --token-secret secret
          conifer serve --origin http://app.test:5173
          conifer serve --grpc-port 8080 --store sqlite:///var/data
          conifer serve --store lmdb:///var/data --housekeeping off
        """)

    @Option(help: "The port; 0 for any that is free.")
    var port = 9000
    @Option(
      help:
        "The port of documents over gRPC, for SDKs of Firestore; 0 for any that is free; none by default."
    )
    var grpcPort: Int?
    @Option(help: "The address to listen at; 0.0.0.0 lets other machines in.")
    var host = "localhost"
    @Option(help: "The database of clients that name none.")
    var namespace = NamespaceName.default
    @Option(help: "The store's URL, for example lmdb:///var/data; its trees are the databases.")
    var store: String?
    @Option(help: "The file with the store's key, if it is encrypted.", completion: .file())
    var keyFile: String?
    @Option(
      help:
        "Security rules for all databases; the file is watched. Without it the store keeps rules that are set by PUT.",
      completion: .file(extensions: ["json"]))
    var rules: String?
    @Option(
      help: """
        An origin whose pages may ask, as browsers name it, and under whose name the server may be \
        reached; or * for all; by default those of this machine.
        """)
    var origin: [String] = []
    @Option(help: "Seconds of silence before an event stream says keep-alive.")
    var keepAlive = 30
    @Option(help: "The most open connections at each port.")
    var connections = HTTPServerLimits().connections
    @Option(
      help: """
        Whether the store is tidied while nothing else is asked of it: automatic, or off, which leaves that to conifer \
        tidy.
        """,
      transform: ServeCommand.housekeepingChoice)
    var housekeeping = Housekeeping.automatic
    @OptionGroup var tokens: ServeTokenOptions

    func validate() throws {
      guard 0...65_535 ~= port else { throw ValidationError("--port is a number up to 65535.") }
      if let grpcPort, !(0...65_535 ~= grpcPort) {
        throw ValidationError("--grpc-port is a number up to 65535.")
      }
      guard grpcPort == nil || grpcPort == 0 || grpcPort != port else {
        throw ValidationError("--grpc-port is another port than --port.")
      }
      guard NamespaceName.isValid(namespace) else {
        throw ValidationError("--namespace is 1 to 100 of a-z, A-Z, 0-9, - and _.")
      }
      for origin in origin where !OriginName.isValid(origin) {
        throw ValidationError(
          "--origin \(origin) is not an origin as browsers name it: give a scheme, a host and no path, "
            + "and a port if it is not the usual one, such as http://app.test:5173, or *.")
      }
      guard keepAlive > 0 else { throw ValidationError("--keep-alive is a number from 1.") }
      guard connections > 0 else { throw ValidationError("--connections is a number from 1.") }
    }

    func run(_ console: Console) async throws {
      #if !GRPC
        guard grpcPort == nil else {
          throw Failure(
            "unsupported", .usage,
            "This conifer was built without gRPC: build it with swift build --product conifer "
              + "--traits Zstd,Network,GRPC, or leave out --grpc-port.")
        }
      #endif
      guard let store else { return try await serve(nil, console) }
      let address = try StoreAddress(
        store, keyFile: KeyFile.path(keyFile, console), console)
      // The served data is the only copy: nothing of it may be evicted or dropped.
      try await StoreOptions.opened(address.configuration(role: .authority)) { backend in
        try await serve(backend, console)
      }
    }

    private func serve(_ backend: (any StorageBackend)?, _ console: Console) async throws {
      let authenticator = try await tokens.authenticator()
      let server = Server(serverConfiguration(authenticator))
      let ofDocuments = documentConfiguration(authenticator)
      let documents =
        try backend.map { try DocumentServer(in: $0, ofDocuments) } ?? DocumentServer(ofDocuments)
      let file = try rules.map { try RulesFile($0, server, console) }
      var settings = HTTPServerConfiguration(
        host: host, port: port, namespace: namespace,
        origins: origin.isEmpty ? nil : Set(origin), logger: logger)
      settings.limits.connections = connections
      if let backend { settings.prepare = { try await server.open($0, in: backend) } }
      let http = HTTPServer(server, settings, responders: responders(server, documents))
      Platform.raiseOpenFileLimit()
      if origin.contains("*"), !tokens.hasKeys {
        console.note(
          "conifer: every website may do everything here: give keys for tokens, or name origins.")
      }
      let port: Int
      do throws(HTTPServerError) {
        try await http.prepare(namespace)
        port = try await http.start()
      } catch {
        throw Failure("cannot-serve", .denied, error.message)
      }
      if !settings.isLoopback, !tokens.hasKeys {
        console.note("conifer: other machines may do everything here: give keys for tokens.")
      }
      if tokens.hasKeys, !settings.isLoopback || origin.contains("*") {
        console.note(
          tokens.openDocuments
            ? "conifer: documents are open to whoever connects, with a token or without."
            : "conifer: whoever has a token may read and write all documents: only the tree has rules."
        )
      }
      // When the server listens on all addresses, browsers on this machine reach it under the name
      // of the loopback.
      let isEverywhere = host == "0.0.0.0" || host == "::"
      let name = isEverywhere ? "localhost" : host.contains(":") ? "[\(host)]" : host
      let grpc: (service: any Service, port: Int)?
      do {
        grpc = try await serveGRPC(documents)
      } catch {
        await http.stop()
        throw error
      }
      let lines =
        ["http://\(name):\(port)/"] + (grpc.map { ["grpc://\(name):\($0.port)"] } ?? [])
      let found = Announcement(line: lines.joined(separator: "\n"), console: console)
      let services: [any Service] =
        (file.map { [$0] } ?? []) + [http] + (grpc.map { [$0.service] } ?? []) + [found]
      let group = ServiceGroup(
        services: services, gracefulShutdownSignals: [.sigint, .sigterm], logger: logger)
      try await group.run()
      for name in http.servedNamespaces { await server.waitUntilIdle(name) }
      try await documents.close()
    }

    private static func housekeepingChoice(_ text: String) throws -> Housekeeping {
      guard let choice = Housekeeping(rawValue: text) else {
        throw ValidationError("--housekeeping is automatic or off.")
      }
      return choice
    }

    /// The configuration of the tree's server.
    func serverConfiguration(_ authenticator: JWTAuthenticator) -> ServerConfiguration {
      var configuration = ServerConfiguration(authenticator: authenticator, logger: logger)
      configuration.housekeeping = housekeeping
      configuration.keepsRules = rules == nil
      return configuration
    }

    /// The configuration of the documents' server.
    func documentConfiguration(_ authenticator: JWTAuthenticator) -> DocumentServerConfiguration {
      var configuration = DocumentServerConfiguration(
        access: tokens.hasKeys
          ? DocumentAccess(verifying: authenticator, requiresToken: !tokens.openDocuments) : .open,
        logger: logger)
      configuration.housekeeping = housekeeping
      return configuration
    }

    /// Begins to serve documents over gRPC, if that was asked for.
    private func serveGRPC(
      _ documents: DocumentServer
    ) async throws -> (service: any Service, port: Int)? {
      #if GRPC
        guard let grpcPort else { return nil }
        var settings = DocumentGRPCConfiguration(host: host, port: grpcPort, logger: logger)
        settings.limits.connections = connections
        let server = DocumentGRPCServer(documents, settings)
        do throws(DocumentGRPCError) {
          return (server, try await server.start())
        } catch {
          throw Failure("cannot-serve", .denied, error.message)
        }
      #else
        return nil
      #endif
    }

    /// The responders: the first that has an answer gives it.
    private func responders(
      _ server: Server, _ documents: DocumentServer
    ) -> [any HTTPResponder] {
      // Without keys any bearer is the administrator, as local emulators have it.
      let bearers: RESTConfiguration.Bearers = tokens.hasKeys ? .verified : .administrators
      return [
        HealthResponder(), DocumentRESTResponder(documents),
        PageResponder(
          server, defaultNamespace: namespace, hostNames: [host] + origin.filter { $0 != "null" },
          bearers: bearers, documents: documents),
        RESTResponder(
          server, RESTConfiguration(bearers: bearers, keepAlive: .seconds(keepAlive))),
      ]
    }

    private var logger: Logger {
      var logger = Logger(label: "conifer.serve") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = .warning
      return logger
    }
  }
#endif
