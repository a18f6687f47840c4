import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// What a receiver was handed.
typealias Inbox = Gathered<TransportEvent>

extension Inbox {
  var receive: @Sendable (TransportEvent) -> Void { { self.add($0) } }

  /// Takes out the messages that came.
  func messages() -> [ServerMessage] {
    take().compactMap { event in
      if case .message(let message) = event { return message }
      return nil
    }
  }
}

/// A client that speaks to a session directly: every request is answered on return.
final class Peer {
  let session: ServerSession
  let hello: Hello?
  private let inbox = Inbox()
  private var number: UInt64 = 0
  /// Pushes that came before the last answer, or since it.
  private(set) var pushes: [Push] = []
  private(set) var closed: [String] = []

  init(_ server: Server, _ namespace: String = "ns", lastSession: String? = nil) {
    session = server.connect(to: namespace, lastSession: lastSession, receive: inbox.receive)
    if case .hello(let hello)? = inbox.messages().first { self.hello = hello } else { hello = nil }
  }

  /// Asks, and returns the answer; nil when none came. The pushes that came are in `pushes`.
  @discardableResult
  func ask(_ request: Request) -> Response? {
    number += 1
    session.receive(.request(number, request))
    pushes = []
    var answer: Response?
    for event in inbox.take() {
      switch event {
      case .message(.push(let push)):
        switch push {
        case .overwrite, .merge, .rangeMerge:
          #expect(answer == nil, "Data came after the answer.")
        default: break
        }
        pushes.append(push)
      case .message(.response(number, let response)): answer = response
      case .closed(let reason): closed.append(reason)
      default: Issue.record("\(event) came unexpectedly")
      }
    }
    return answer
  }

  /// All messages that came, answers too.
  func messages() -> [ServerMessage] { inbox.messages() }

  /// The pushes that came unasked.
  func news() -> [Push] {
    pushes = []
    for event in inbox.take() {
      switch event {
      case .message(.push(let push)): pushes.append(push)
      case .closed(let reason): closed.append(reason)
      default: Issue.record("\(event) came unexpectedly")
      }
    }
    return pushes
  }

  @discardableResult
  func listen(
    _ path: Path, _ spec: QuerySpec = .default, tag: Int? = nil, known: Node = .empty,
    ranges: Bool = false
  ) -> Response? {
    ask(
      .listen(
        QueryTarget(path, spec), tag: tag, hash: NodeHash.hash(known),
        compound: ranges ? CompoundHash(of: known, rangeLength: 20) : nil))
  }

  @discardableResult
  func put(_ path: Path, _ node: Node, hash: String? = nil) -> Response? {
    ask(.put(path, node, hash: hash))
  }

  @discardableResult
  func merge(_ path: Path, _ changes: [(Path, Node)]) -> Response? {
    ask(.merge(path, changes.map { NodeChange($0.0, $0.1) }))
  }
}

/// What a listener holds, kept up by pushes alone.
struct Replica {
  let target: QueryTarget
  let tag: Int?
  var node: Node

  mutating func apply(_ push: Push) {
    switch push {
    case .overwrite(let path, let node, tag): replace(path, node)
    case .merge(let path, let changes, tag):
      for change in changes { replace(path.appending(change.path), change.node) }
    case .rangeMerge(target.path, let ranges, tag):
      for range in ranges { node = range.applied(to: node) }
    default: break
    }
  }

  private mutating func replace(_ path: Path, _ new: Node) {
    if let place = path.relative(to: target.path) {
      node = node.setting(place, to: new)
    } else if let place = target.path.relative(to: path), tag == nil {
      node = new[place]
    }
  }
}

extension QuerySpec {
  /// A spec that is known to be valid.
  static func make(
    _ build: (QuerySpec) throws(TreeError) -> QuerySpec,
    at location: SourceLocation = #_sourceLocation
  ) -> QuerySpec {
    do throws(TreeError) {
      return try build(.default)
    } catch {
      Issue.record("\(error)", sourceLocation: location)
      return .default
    }
  }

  /// The first children by priority and key.
  static func first(_ count: Int) -> QuerySpec {
    make { (spec) throws(TreeError) in try spec.limited(toFirst: count) }
  }

  /// All children by their values.
  static var byValue: QuerySpec {
    make { (spec) throws(TreeError) in try spec.ordered(by: .value) }
  }
}
