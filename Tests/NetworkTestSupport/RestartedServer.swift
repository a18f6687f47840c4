#if Network
  import Foundation
  import Synchronization
  import TestSupport

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A server behind a proxy that is killed while clients use it, and started again on the same store: up to four times,
  /// each time that some bytes came from it.
  package final class RestartedServer: Sendable {
    private struct State {
      var kills = 0
      var areClientsGone = false
    }

    private let state: Killing
    private let work: OwnThread<ServerProcess>
    package let proxy: FaultyProxy

    private final class Killing: Sendable {
      let state = Mutex(State())
    }

    /// Starts the server and the proxy.
    ///
    /// - Parameters:
    ///   - arguments: those of `conifer serve`, a durable store among them.
    ///   - port: the port that clients use.
    ///   - seed: decides when the server is killed, and how the network goes wrong.
    package init(
      _ arguments: [String], port: @escaping @Sendable (ServerProcess) -> Int, seed: UInt64
    ) async throws {
      let first = try ServerProcess(arguments)
      let proxy = try await FaultyProxy(to: port(first), seed: seed, faults: 8)
      let killing = Killing()
      self.proxy = proxy
      state = killing
      work = OwnThread {
        var (server, random) = (first, Seeded(seed))
        // The first time soon, so that clients are there.
        for most in [2_000, 20_000, 20_000, 20_000] {
          let bytes = proxy.counts.toClients + Int.random(in: 500...most, using: &random)
          while proxy.counts.toClients < bytes {
            if killing.state.withLock({ $0.areClientsGone }) { return server }
            usleep(1_000)
          }
          // A kill counts only if it comes before the clients' end is told.
          let isWanted = killing.state.withLock { state in
            if !state.areClientsGone { state.kills += 1 }
            return !state.areClientsGone
          }
          guard isWanted else { return server }
          guard server.kill() else { throw ServerProcess.Ended() }
          server = try ServerProcess(arguments)
          proxy.lead(to: port(server))
        }
        return server
      }
    }

    /// How often the server was killed.
    package var kills: Int { state.state.withLock { $0.kills } }

    /// Runs clients side by side, each in one process after the other: twice, and on until the server was killed.
    ///
    /// - Parameter live: one process of a client, by the client's number and the process's from 1; it returns once that was
    ///   killed.
    /// - Returns: the server, which is killed no more.
    package func outlive(
      clients: Int, _ live: @escaping @Sendable (_ client: Int, _ number: Int) async throws -> Void
    ) async throws -> ServerProcess {
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in 0..<clients {
            group.addTask {
              var number = 1
              while number <= 2 || self.kills == 0 {
                try await live(client, number)
                number += 1
              }
            }
          }
          try await group.waitForAll()
        }
      } catch {
        try await end().kill()
        throw error
      }
      return try await end()
    }

    private func end() async throws -> ServerProcess {
      state.state.withLock { $0.areClientsGone = true }
      return try await work.value
    }
  }
#endif
