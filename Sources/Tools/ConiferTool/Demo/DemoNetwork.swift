#if Network
  /// The client demo's server and the simulated network before it, each a process of its own.
  final class DemoNetwork {
    private let server: ChildProcess
    private let serverPort: Int
    private let port: Int
    private var relay: ChildProcess?

    /// Starts a server, and the network.
    init(_ stores: DemoStores) throws {
      server = try ChildProcess([
        "serve", "--host", "127.0.0.1", "--port", "0", "--namespace", DemoStores.namespace,
        "--store", stores.server,
      ])
      let address = try server.line() ?? ""
      guard let number = address.split(separator: ":").last.flatMap({ Int($0.dropLast()) }) else {
        server.kill()
        throw Failure("serve", .internal, "The server did not say where it listens: \(address).")
      }
      serverPort = number
      do {
        (relay, port) = try Self.relay(to: number, at: 0)
      } catch {
        server.kill()
        throw error
      }
    }

    private static func relay(to server: Int, at port: Int) throws -> (ChildProcess, Int) {
      let relay = try ChildProcess(["demo-relay", "--port", "\(port)", "--to", "\(server)"])
      guard let port = try relay.line().flatMap({ Int($0) }) else {
        throw Failure("demo-relay", .internal, "There is no network between client and server.")
      }
      return (relay, port)
    }

    /// Where clients find the server while the network is up.
    var address: String { "ws://127.0.0.1:\(port)" }

    /// Where the server is without the network between.
    var serverAddress: String { "ws://127.0.0.1:\(serverPort)" }

    /// Cuts all connections, and lets no new ones come about.
    func cut() throws {
      guard let relay else { return }
      self.relay = nil
      relay.kill()
      _ = try relay.wait()
    }

    /// Lets clients connect again.
    func restore() throws { (relay, _) = try Self.relay(to: serverPort, at: port) }

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
