#if Network
  import ServiceLifecycle

  /// Prints where a server listens. It runs as a service of the server's group, because the group
  /// handles signals before it starts its services, so whoever has read the line can end the server
  /// properly.
  struct Announcement: Service {
    let line: String
    let console: Console

    func run() async throws {
      try console.print(line)
      try await gracefulShutdown()
    }
  }
#endif
