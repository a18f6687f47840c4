import ConiferQuery
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// Random messages of every kind, from a seed.
struct RandomMessages {
  private var numbers: Seeded

  init(seed: UInt64) { numbers = Seeded(seed) }

  mutating func bits() -> UInt64 { numbers.next() }

  mutating func below(_ limit: Int) -> Int { Int(bits() % UInt64(max(1, limit))) }

  mutating func pick<T>(_ all: [T]) -> T { all[below(all.count)] }

  mutating func text() -> String {
    pick([
      "", "a", "é", "e\u{301}", "😀\"\\\n", "\u{0}\u{7f}",
      "long " + String(repeating: "€", count: 40),
    ])
  }

  mutating func key() -> Key { pick(["a", "b", "0", "-1", "01", "é", "😀", "a b\"", "w", "\\"]) }

  mutating func path() -> Path { Path((0..<below(4)).map { _ in key() }) }

  mutating func leaf() -> Leaf {
    switch below(8) {
    case 0: .string(text())
    case 1: .integer(Int64(bitPattern: bits()))
    case 2: .integer(Int64(below(100)) - 50)
    case 3: .double(Double(Int64(bitPattern: bits())) * 1e-9)
    case 4: .double(1e300)
    case 5: .serverValue(.timestamp)
    case 6: .serverValue(.increment(.integer(Int64(below(9)))))
    default: .bool(below(2) == 0)
    }
  }

  mutating func node(_ depth: Int = 3) -> Node {
    let priority = below(5) == 0 ? Priority(text()) : nil
    if depth == 0 || below(3) == 0 {
      return below(6) == 0 ? .empty : Node(leaf(), priority: priority)
    }
    let children = (0..<below(4)).map { _ in (key(), node(depth - 1)) }
    return Node(children: children, priority: priority)
  }

  mutating func changes() -> [NodeChange] {
    (0..<below(4)).map { _ in NodeChange(path().appending(key()), node()) }
  }

  mutating func spec() -> QuerySpec {
    let texts = [
      "{}", #"{"i":".key"}"#, #"{"sp":null,"i":"a/b"}"#, #"{"l":3,"vf":"r"}"#,
      #"{"ep":"x","en":"k","i":".value"}"#, #"{"sp":1,"sin":false,"l":1,"vf":"l"}"#,
    ]
    do {
      return try QuerySpec(json: Array(pick(texts).utf8))
    } catch {
      Issue.record("A query of the test is none: \(error)")
      return .default
    }
  }

  mutating func tag() -> Int? { below(2) == 0 ? nil : below(1000) }

  mutating func clientMessage() -> ClientMessage {
    let target = QueryTarget(path(), spec())
    let request: Request
    switch below(15) {
    case 0:
      let compound = below(2) == 0 ? nil : CompoundHash(of: node(), rangeLength: 10)
      request = .listen(target, tag: tag(), hash: text(), compound: compound)
    case 1: request = .unlisten(target, tag: tag())
    case 2: request = .get(target)
    case 3: request = .put(path(), node(), hash: below(2) == 0 ? nil : text())
    case 4: request = .merge(path(), changes())
    case 5: request = .onDisconnectPut(path(), node())
    case 6: request = .onDisconnectMerge(path(), changes())
    case 7: request = .onDisconnectCancel(path())
    case 8:
      request = .authenticate(
        Credential(text(), override: pick([nil, .nobody, .claims(["uid": "a"])])))
    case 9: request = .unauthenticate
    case 10: request = .appCheck(below(2) == 0 ? nil : text())
    case 11: request = .stats(["a.b": below(9), text(): below(9)])
    case 12: return .keepAlive
    case 13: return .ping
    default: return .unknown(below(2) == 0 ? nil : UInt64(below(9)), action: "zz")
    }
    return .request(bits() >> 12, request)
  }

  mutating func serverMessage() -> ServerMessage {
    let status = Response.Status(rawValue: pick(["expired_token", "x", "datastale"]))
    switch below(15) {
    case 0:
      return .hello(
        Hello(timestamp: Int64(bitPattern: bits()), host: text(), session: text()))
    case 1: return .response(bits() >> 12, Response(.ok, node: dataWithoutWarnings()))
    case 2:
      let reason = text()
      return .response(7, Response(status, reason: reason.isEmpty ? nil : reason))
    case 3: return .push(.overwrite(path(), node(), tag: tag()))
    case 4: return .push(.merge(path(), changes(), tag: tag()))
    case 5:
      let ranges = (0..<below(4)).map { _ in
        RangeMerge(
          start: below(3) == 0 ? nil : path(), end: below(3) == 0 ? nil : path(), node: node())
      }
      return .push(.rangeMerge(path(), ranges, tag: tag()))
    case 6: return .push(.listenRevoked(path(), below(2) == 0 ? .default : spec()))
    case 7: return .push(.authRevoked(status, reason: text()))
    case 8: return .push(.appCheckRevoked(status, reason: text()))
    case 9: return .push(.debug(text()))
    case 10: return .reset(host: "h" + text())
    case 11: return .shutdown(text())
    case 12: return .error(text())
    case 13: return .pong
    default: return .unknown("zz")
    }
  }

  /// Data found by a get that does not look like warnings.
  private mutating func dataWithoutWarnings() -> Node { node().setting("w" as Key, to: .empty) }
}
