#if Network
  /// A demo's server and the simulated network before it, each a process of its own.
  final class DemoNetwork {
    /// What clients ask the server for.
    enum Service: String {
      case trees = "ws"
      case documents = "grpc"
    }

    private let stores: DemoStores
    private let service: Service
    private var server: ChildProcess
    /// Where the server is without the network between.
    let serverPort: Int
    /// Where clients find the server while the network is up.
    let port: Int
    private var relay: ChildProcess?

    /// Starts a server, and the network.
    init(_ stores: DemoStores, of service: Service) throws {
      self.stores = stores
      self.service = service
      (server, serverPort) = try Self.serve(service, stores, at: 0)
      do {
        (relay, port) = try Self.relay(to: serverPort, at: 0)
      } catch {
        server.kill()
        throw error
      }
    }

    private static func serve(
      _ service: Service, _ stores: DemoStores, at port: Int
    ) throws -> (ChildProcess, Int) {
      let ports =
        switch service {
        case .trees: ["--port", "\(port)", "--namespace", DemoStores.namespace]
        case .documents: ["--port", "0", "--grpc-port", "\(port)"]
        }
      let server = try ChildProcess(
        ["serve", "--host", "127.0.0.1", "--store", stores.server] + ports)
      let scheme = service == .trees ? "http" : service.rawValue
      var said = ""
      do {
        while let line = try server.line(within: Patience.limit) {
          said = line
          guard line.hasPrefix("\(scheme)://") else { continue }
          let digits = line.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
          if let port = Int(digits) { return (server, port) }
        }
      } catch {
        server.kill()
        throw error
      }
      server.kill()
      throw Failure("serve", .internal, "The server did not say where it listens: \(said).")
    }

    private static func relay(to server: Int, at port: Int) throws -> (ChildProcess, Int) {
      let relay = try ChildProcess(["demo-relay", "--port", "\(port)", "--to", "\(server)"])
      guard let port = try relay.line(within: Patience.limit).flatMap({ Int($0) }) else {
        relay.kill()
        throw Failure("demo-relay", .internal, "There is no network between client and server.")
      }
      return (relay, port)
    }

    /// The same as `port`, as clients of trees name it.
    var address: String { "\(service.rawValue)://127.0.0.1:\(port)" }

    /// The same as `serverPort`, as clients of trees name it.
    var serverAddress: String { "\(service.rawValue)://127.0.0.1:\(serverPort)" }

    // MARK: The network

    /// Cuts all connections, and lets no new ones come about.
    func cut() throws {
      guard let relay else { return }
      self.relay = nil
      relay.kill()
      _ = try relay.wait()
    }

    /// Lets clients connect again.
    func restore() throws { (relay, _) = try Self.relay(to: serverPort, at: port) }

    /// From now on nothing of what the server says gets to clients, and they are not told.
    func loseAnswers() throws {
      relay?.prompt()
      guard try relay?.line(within: Patience.limit) == DemoRelayCommand.losing else {
        throw Failure("demo-relay", .internal, "The network does not lose the server's answers.")
      }
    }

    // MARK: The server

    /// Kills the server wherever it is.
    func killServer() throws {
      server.kill()
      let end = try server.wait()
      guard end == .killed(signal: ChildProcess.killSignal) else {
        throw Failure("serve", .internal, "The server was not killed: \(end).")
      }
    }

    /// Starts the server again, on what it has stored, at the same port.
    func restartServer() throws {
      (server, _) = try Self.serve(service, stores, at: serverPort)
    }

    /// Ends the server in good order.
    func stop() throws {
      try cut()
      server.terminate()
      let end = try server.wait()
      guard end == .exited(0) else {
        throw Failure("serve", .internal, "The server did not end in good order: \(end).")
      }
    }

    /// Ends all processes at once.
    func kill() {
      relay?.kill()
      server.kill()
    }
  }
#endif
