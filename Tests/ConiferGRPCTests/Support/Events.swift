#if GRPC
  import ConiferDocument
  import ConiferWire
  import Synchronization

  /// A stream of listens and what came on it.
  final class WatchLine: Sendable {
    let events = Mailbox<WatchStreamEvent>()
    let stream: any WatchStream

    init(_ service: any DocumentService, token: String? = nil) {
      let events = events
      stream = service.openWatch(token: token) { events.put($0) }
    }

    func next() async -> WatchStreamEvent? { await events.next() }

    /// Waits until the stream is open.
    func opened() async -> Bool { if case .opened = await next() { true } else { false } }

    /// The next thing that was said.
    func said() async throws -> (WatchChange, Timestamp?) {
      let event = await next()
      guard case .said(let change, let version) = event else {
        throw Ended(instead: String(describing: event))
      }
      return (change, version)
    }

    /// Why the stream ended, whatever came before.
    func end() async -> StatusError? {
      while let event = await next() {
        if case .closed(let error) = event { return error }
      }
      return nil
    }
  }

  /// A service that counts what passes.
  struct CountingService: DocumentService {
    /// What passed.
    struct Counts: Sendable {
      var documents: [String] = []
      var filters = 0
      /// The targets that were reset, each as often as it was.
      var resets: [TargetID] = []
      var targets: [WatchTarget] = []
      var streams = 0
      var closed: [StatusError?] = []
    }

    final class Log: Sendable {
      private let counts = Mutex(Counts())
      var all: Counts { counts.withLock { $0 } }
      func change(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }
    }

    let base: any DocumentService
    let log: Log

    func openWatch(
      token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
    ) -> any WatchStream {
      log.change { $0.streams += 1 }
      let stream = base.openWatch(token: token) { [log] event in
        log.change {
          switch event {
          case .said(.document(let document, _, _), _): $0.documents.append("\(document.path)")
          case .said(.filter, _): $0.filters += 1
          case .said(.targets(.reset, let ids, _), _): $0.resets += ids
          case .closed(let error): $0.closed.append(error)
          default: break
          }
        }
        receive(event)
      }
      return CountedStream(base: stream, log: log)
    }

    func openWrites(
      token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
    ) -> any WriteStream { base.openWrites(token: token, receive) }

    func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
      try await base.lookup(paths, token: token)
    }

    func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
      try await base.commit(writes, token: token)
    }

    func aggregate(
      _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
    ) async throws(StatusError) -> [DocumentValue] {
      try await base.aggregate(query, aggregates, token: token)
    }
  }

  private final class CountedStream: WatchStream {
    let base: any WatchStream
    let log: CountingService.Log

    init(base: any WatchStream, log: CountingService.Log) {
      self.base = base
      self.log = log
    }

    func add(_ target: WatchTarget) {
      log.change { $0.targets.append(target) }
      base.add(target)
    }
    func remove(_ target: TargetID) { base.remove(target) }
    func taken() { base.taken() }
    func close() { base.close() }
  }
#endif
