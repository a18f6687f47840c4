import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferServer

/// What becomes of sessions whose tokens expire.
@Suite struct ExpiryTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let tokens = TokenTable()
  private let server: Server

  init() throws {
    tokens.set("t-ada", VerifiedToken(uid: "ada", expires: 61_000))
    tokens.set("t-bob", VerifiedToken(uid: "bob"))
    server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    let rules = #"{"rules":{"online":{"$uid":{".write":"auth.uid === $uid"}}}}"#
    try server.setRules(json: Array(rules.utf8), in: "ns")
  }

  /// What is there when a session ends that wanted to say so.
  private func left(_ then: (Peer) -> Void) -> Node {
    server.set(.root, ["online": ["ada": true]], in: "ns")
    let peer = Peer(server)
    #expect(peer.ask(.authenticate(Credential("t-ada")))?.status == .ok)
    #expect(peer.ask(.onDisconnectPut("online/ada", .empty)) == .ok)
    then(peer)
    peer.session.end()
    return server.data(in: "ns")
  }

  private func expire() {
    clock.advance(by: 60_000)
    server.tick()
  }

  @Test func `A token that merely expired still counts at the disconnect, and for nothing else`() {
    let data = left { peer in
      expire()
      #expect(peer.put("online/ada", false)?.status == .permissionDenied)
      // The client has no other token yet.
      #expect(peer.ask(.authenticate(Credential("t-ada")))?.status == .expiredToken)
    }
    #expect(data.isEmpty)
  }

  @Test func `A session that became nobody's or somebody else's says nothing in the old name`() {
    let there: Node = ["online": ["ada": true]]
    #expect(left { $0.ask(.unauthenticate) } == there)
    #expect(left { $0.ask(.authenticate(Credential("t-bob"))) } == there)
    #expect(left { $0.ask(.authenticate(Credential("unknown"))) } == there)
    #expect(left { _ in server.expireTokens(in: "ns") } == there)
    #expect(left { $0.session.adopt(nil) } == there)
  }

  @Test func `To leave after the token expired is to be nobody at the disconnect`() {
    let data = left { peer in
      expire()
      peer.ask(.unauthenticate)
    }
    #expect(data == ["online": ["ada": true]])
  }

  @Test func `After each tick the next expiry is asked for`() {
    for (name, expires) in [("t-1", 3000), ("t-2", 9000), ("t-3", 6000)] as [(String, Int64)] {
      tokens.set(name, VerifiedToken(uid: name, expires: expires))
    }
    var machine = Namespace(authenticator: tokens)
    for number in 1...3 as ClosedRange<UInt64> {
      let id = SessionID(rawValue: number)
      _ = machine.handle(.connect(id, name: "\(number)", host: "h", lastSession: nil), now: 0)
      let request = Request.authenticate(Credential("t-\(number)"))
      _ = machine.handle(.message(id, .request(1, request)), now: 0)
    }
    func wakes(_ now: Int64) -> [Int64] {
      machine.handle(.tick, now: now).compactMap {
        if case .wake(let time) = $0 { time } else { nil }
      }
    }
    #expect(wakes(3000) == [6000])
    #expect(wakes(6500) == [9000])
    #expect(wakes(9000) == [])
  }

  @Test func `By the system's time each token ends, whichever was given first`() async {
    let clock = ServerClock()
    let server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    let (pushes, come) = AsyncStream.makeStream(of: String.self)
    // The latest first, so that the timer has to be set back.
    for (uid, after) in [("far", 80_000_000), ("second", 120), ("first", 60)] as [(String, Int64)] {
      let session = server.connect(to: "ns") { event in
        if case .message(.push(.authRevoked)) = event { come.yield(uid) }
      }
      session.adopt(VerifiedToken(uid: uid, expires: clock.now + after))
    }
    var ended: Set<String> = []
    for await uid in pushes {
      ended.insert(uid)
      if ended.count == 2 { break }
    }
    #expect(ended == ["first", "second"])
  }

  @Test func `A transaction that lost the race is told so, though the rules refuse it now`() throws
  {
    let rules = """
      {"rules":{"n":{".read":true,".write":"newData.val() == data.val() + 1"},
       "secret":{".write":"newData.val() == data.val() + 1"}}}
      """
    try server.setRules(json: Array(rules.utf8), in: "ns")
    server.set(.root, ["n": 5, "secret": 5], in: "ns")
    let (peer, old) = (Peer(server), NodeHash.hash(4))
    #expect(peer.put("n", 5, hash: old)?.status == .dataStale)
    // Who may not read learns nothing of what is there.
    #expect(peer.put("secret", 5, hash: old)?.status == .permissionDenied)
    #expect(peer.put("n", 7, hash: NodeHash.hash(5))?.status == .permissionDenied)
    #expect(peer.put("n", 6, hash: NodeHash.hash(5)) == .ok)
  }

  @Test func `Messages that are not understood are no warnings`() {
    var machine = Namespace()
    let id = SessionID(rawValue: 1)
    _ = machine.handle(.connect(id, name: "s", host: "h", lastSession: nil), now: 0)
    for message in [ClientMessage.unknown(1, action: "zz"), .invalid(2, reason: "words")] {
      let outputs = machine.handle(.message(id, message), now: 0)
      let answers = outputs.filter { if case .send = $0 { true } else { false } }
      #expect(answers.count == 1)
      #expect(!outputs.contains { if case .log = $0 { true } else { false } })
    }
  }
}
