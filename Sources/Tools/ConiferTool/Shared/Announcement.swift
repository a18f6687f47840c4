#if Network
  import ServiceLifecycle

  /// Says where a server is, from among the services of its group: the group traps signals before it starts
  /// them, so that whoever read the line can end the server in good order.
  struct Announcement: Service {
    let line: String
    let console: Console

    func run() async throws {
      try console.print(line)
      try await gracefulShutdown()
    }
  }
#endif
