import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire

/// A listen as server-sent events; its session ends when the stream is released.
final class EventStream: Sendable {
  private let queue: EventQueue
  private let path: Path
  private let form: Node.JSONForm
  private let beats: Task<Void, Never>

  private init(_ queue: EventQueue, _ path: Path, _ form: Node.JSONForm, _ period: Duration) {
    self.queue = queue
    self.path = path
    self.form = form
    beats = Task { [weak queue] in
      while !Task.isCancelled {
        do { try await Task.sleep(for: period) } catch { return }
        queue?.beat()
      }
    }
  }

  deinit {
    beats.cancel()
    queue.stop()
  }

  /// Begins to listen.
  ///
  /// - Throws: the answer instead of a stream.
  static func open(
    _ target: QueryTarget, as token: VerifiedToken?, of server: Server, in namespace: String,
    form: Node.JSONForm, keepAlive: Duration, backlog: Int,
    all: MemoryBudget
  ) async throws(RESTRefusal) -> EventStream {
    let queue = EventQueue(limit: backlog, all: all)
    let session = server.connect(to: namespace) { queue.receive($0) }
    session.adopt(token)
    // No data has this hash, so that the listen always sends a first event.
    let listen = Request.listen(
      target, tag: target.spec.loadsAllData ? nil : 1, hash: "-", compound: nil)
    let response = await queue.answer(of: session, to: listen)
    guard response.status == .ok else {
      session.end()
      throw RESTRefusal(response)
    }
    return EventStream(queue, target.path, form, keepAlive)
  }

  /// The text of the next events; nil when there are no more.
  func next() async -> [UInt8]? {
    while true {
      switch await queue.next() {
      case .end:
        queue.stop()
        return nil
      case .silence: return Self.event("keep-alive", Array("null".utf8))
      case .news(let news):
        let text = news.flatMap(text)
        // Changes of priorities that are not shown are not sent.
        if !text.isEmpty { return text }
      }
    }
  }

  func stop() { queue.stop() }

  private func text(_ push: Push) -> [UInt8] {
    switch push {
    case .overwrite(let place, let node, _):
      guard isShown(place) else { return [] }
      return event("put", at: place) { node.write(to: &$0, form) }
    case .merge(let place, let changes, _):
      let shown = changes.filter { isShown($0.path) }
      if shown.isEmpty { return [] }
      return event("patch", at: place) { writer in
        writer.beginObject()
        for change in shown {
          writer.key(String(change.path.description.dropFirst()))
          change.node.write(to: &writer, form)
        }
        writer.endObject()
      }
    case .listenRevoked: return Self.event("cancel", Array("null".utf8))
    // Without quotes, as clients compare the text.
    case .authRevoked:
      return Self.event("auth_revoked", Array("credential is no longer valid".utf8))
    default: return []
    }
  }

  private func isShown(_ place: Path) -> Bool { form == .export || place.last?.isPriority != true }

  private func event(
    _ name: String, at place: Path, _ data: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("path")
    writer.string((place.relative(to: path) ?? .root).description)
    writer.key("data")
    data(&writer)
    writer.endObject()
    return Self.event(name, writer.bytes)
  }

  private static func event(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}
