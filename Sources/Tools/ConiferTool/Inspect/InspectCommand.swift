#if Network
  import ArgumentParser
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import Logging
  import ServiceLifecycle
  import UnixSignals

  /// Shows a client's store in the browser.
  struct InspectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
      commandName: "inspect",
      abstract: "Show a client's store in the browser: cache, queries, pins, queue, bytes.",
      discussion: """
        Serves a page at http://localhost:PORT/ until it is interrupted. It changes nothing; opening a \
        store that was not closed in order recovers it, as every command does. The app that owns the \
        store has to be closed.
        """)

    @Option(help: "The port; 0 for any that is free.")
    var port = 9001
    @OptionGroup var store: StoreOptions

    func validate() throws {
      guard 0...65_535 ~= port else { throw ValidationError("--port is a number up to 65535.") }
    }

    func run(_ console: Console) async throws {
      let address = try StoreAddress(
        store.url(console), keyFile: KeyFile.path(store.keyFile, console), console)
      try address.mustBePresent()
      // The store is opened as an authority, so that reading damaged data drops nothing.
      try await StoreOptions.opened(
        address.configuration(role: .authority), telling: console
      ) { backend in
        try await serve(StoreInspection(backend, title: address.text), console)
      }
    }

    private func serve(_ page: StoreInspection, _ console: Console) async throws {
      // The HTTP server needs a database server. This one accepts no token and allows no access.
      let nobody = Server(
        ServerConfiguration(
          authenticator: TokenTable(),
          rules: ClosureRules(read: { _, _ in false }, write: { _, _, _ in false })))
      let http = HTTPServer(nobody, HTTPServerConfiguration(port: port), responders: [page])
      let port: Int
      do throws(HTTPServerError) {
        port = try await http.start()
      } catch {
        throw Failure("cannot-listen", .denied, error.message)
      }
      let found = Announcement(line: "http://localhost:\(port)/", console: console)
      let group = ServiceGroup(
        services: [http, found], gracefulShutdownSignals: [.sigint, .sigterm],
        logger: Logger(label: "conifer.inspect"))
      try await group.run()
    }
  }
#endif
