import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Synchronization

/// The way of one client to a server that ends and begins anew: each time over a link of its own, with the same faults.
final class ProgramLink: DocumentService {
  private struct State {
    var link: DocumentLink
    var delay: ClosedRange<Duration> = .zero ... .zero
  }

  private let database: DatabaseID
  private let delivery: DocumentLink.Delivery
  private let seed: UInt64
  private let state: Mutex<State>

  init(
    to database: DatabaseID, of server: DocumentServer, _ delivery: DocumentLink.Delivery,
    seed: UInt64
  ) {
    self.database = database
    self.delivery = delivery
    self.seed = seed
    state = Mutex(
      State(link: DocumentLink(to: database, of: server, delivery, seed: seed)))
  }

  /// What a client is made with, once for all servers.
  var transport: DocumentTransport {
    DocumentTransport(self, description: "a server that ends and begins anew")
  }

  /// The link to the server of now.
  var now: DocumentLink { state.withLock { $0.link } }

  func delay(_ delay: ClosedRange<Duration>) {
    now.delay(delay)
    state.withLock { $0.delay = delay }
  }

  /// Another server has begun.
  func lead(to server: DocumentServer) {
    let link = DocumentLink(to: database, of: server, delivery, seed: seed)
    let old = state.withLock { state in
      let old = state.link
      link.faults = old.faults
      link.isReachable = old.isReachable
      link.delay(state.delay)
      state.link = link
      return old
    }
    // Nobody releases later what is held there, such as the end of its streams.
    old.release()
  }

  // MARK: The server of now

  private var service: any DocumentService { now.transport.service }

  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream { service.openWatch(token: token, receive) }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream { service.openWrites(token: token, receive) }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    try await service.lookup(paths, token: token)
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    try await service.commit(writes, token: token)
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    try await service.aggregate(query, aggregates, token: token)
  }
}
