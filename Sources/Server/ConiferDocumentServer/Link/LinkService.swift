import ConiferDocument
import ConiferWire
import Synchronization

/// A database of a server, as a client reaches it over a link.
struct LinkService: DocumentService {
  private let link: DocumentLink

  init(_ link: DocumentLink) { self.link = link }

  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    let host = link.host
    let id = host.newStream()
    let channel = LinkChannel(link, end: { host.post(.watch(id, .close)) }) { receive(.closed($0)) }
    link.add(channel)
    let deliver: @Sendable ([WatchStreamEvent]) -> Void = { [link] events in
      for (place, event) in events.enumerated() {
        switch event {
        case .opened: channel.tell { receive(event) }
        case .closed(let error): channel.endedByServer(error)
        case .said(let change, _):
          let isLast = place == events.count - 1
          channel.tell {
            link.count { $0.count(change, isLast) }
            receive(event)
            // The server makes the next moment when the client has this one.
            if isLast { host.post(.watch(id, .ready)) }
          }
        }
      }
    }
    channel.open { host.post(.openWatch(id, token: token, deliver)) }
    return LinkWatchStream(link, channel, id)
  }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let host = link.host
    let id = host.newStream()
    let channel = LinkChannel(link, end: { host.post(.writes(id, .close)) }) {
      receive(.closed($0))
    }
    link.add(channel)
    let deliver: @Sendable (WriteStreamEvent) -> Void = { event in
      switch event {
      case .opened, .greeted: channel.tell { receive(event) }
      case .answered: channel.tell(isAnswer: true) { receive(event) }
      case .closed(let error): channel.endedByServer(error)
      }
    }
    channel.open { host.post(.openWrites(id, token: token, deliver)) }
    return LinkWriteStream(link, channel, id)
  }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    try await request { host throws(StatusError) in
      try await host.lookup(paths, .token(token))
    }
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    try await request(isCommit: true) { [link] host throws(StatusError) in
      try await host.commit(writes, .token(token), from: link.connection)
    }
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    try await request { host throws(StatusError) in
      try await host.aggregate(query, aggregates, .token(token))
    }
  }

  /// Sends a request, and waits for its answer.
  private func request<R: Sendable>(
    isCommit: Bool = false,
    _ body: @escaping @Sendable (DatabaseHost) async throws(StatusError) -> R
  ) async throws(StatusError) -> R {
    let host = link.host
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<R, StatusError>, Never>) in
      let answer = Once(continuation)
      let channel = LinkChannel(link, end: {}) { error in
        answer.resume(.failure(error ?? LinkChannel.lost))
      }
      link.add(channel)
      channel.open { [link] in
        link.count {
          $0.streams -= 1
          $0.requests += 1
        }
        Task {
          let result: Result<R, StatusError>
          do throws(StatusError) { result = .success(try await body(host)) } catch {
            result = .failure(error)
          }
          channel.tell(isAnswer: isCommit) {
            answer.resume(result)
            channel.closeByClient()
          }
        }
      }
    }
    return try result.get()
  }
}

/// Answers a caller once.
private final class Once<R: Sendable>: Sendable {
  private let continuation: Mutex<CheckedContinuation<R, Never>?>

  init(_ continuation: CheckedContinuation<R, Never>) { self.continuation = Mutex(continuation) }

  func resume(_ result: sending R) {
    continuation.withLock { $0.take() }?.resume(returning: result)
  }
}

/// A client's end of a stream of listens.
private final class LinkWatchStream: WatchStream {
  private let link: DocumentLink
  private let channel: LinkChannel
  private let id: StreamID

  init(_ link: DocumentLink, _ channel: LinkChannel, _ id: StreamID) {
    self.link = link
    self.channel = channel
    self.id = id
  }

  func add(_ target: WatchTarget) {
    channel.send { [link, id] in
      link.count { $0.targets += 1 }
      link.host.post(.watch(id, .add(target)))
    }
  }

  func remove(_ target: TargetID) {
    channel.send { [link, id] in link.host.post(.watch(id, .remove(target))) }
  }

  func close() { channel.closeByClient() }
}

/// A client's end of a stream of writes.
private final class LinkWriteStream: WriteStream {
  private let link: DocumentLink
  private let channel: LinkChannel
  private let id: StreamID

  init(_ link: DocumentLink, _ channel: LinkChannel, _ id: StreamID) {
    self.link = link
    self.channel = channel
    self.id = id
  }

  func greet(token: [UInt8]) {
    channel.send { [link, id] in link.host.post(.writes(id, .greet(token: token))) }
  }

  func send(_ writes: [Mutation], batch: Int64?, token: [UInt8]) {
    channel.send { [link, id] in
      link.count { $0.batches += 1 }
      link.host.post(.writes(id, .send(writes, batch: batch, token: token)))
    }
  }

  func close() { channel.closeByClient() }
}

extension LinkCounts {
  fileprivate mutating func count(_ change: WatchChange, _ isMoment: Bool) {
    if isMoment { moments += 1 }
    switch change {
    case .document, .left: documents += 1
    case .targets, .filter, .unreadable: break
    }
  }
}
