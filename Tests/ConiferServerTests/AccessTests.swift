import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@Suite struct AccessTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let tokens = TokenTable()
  private let server: Server

  init() {
    let rules = ClosureRules(
      read: { target, context in
        target.path.first == "public" || (target.path.first?.string == context.auth?.uid)
      },
      write: { path, after, context in
        if path.first == "public" { return after["public/locked" as Path].isEmpty }
        return path.first?.string == context.auth?.uid
      })
    tokens.set("t-ada", VerifiedToken(uid: "ada", claims: ["role": "x"], expires: 61_000))
    tokens.set("t-bob", VerifiedToken(uid: "bob"))
    tokens.set("t-admin", VerifiedToken(uid: "root", isAdmin: true))
    server = Server(
      ServerConfiguration(authenticator: tokens, rules: rules, clock: clock))
    server.set(.root, ["ada": ["x": 1], "public": ["x": 1]], in: "ns")
  }

  private let denied = Response(.permissionDenied, reason: "Permission denied")

  @Test func `Reads and writes that the rules refuse are refused`() {
    let peer = Peer(server)
    #expect(peer.listen("ada") == denied)
    #expect(peer.pushes.isEmpty)
    #expect(peer.ask(.get(QueryTarget("ada"))) == denied)
    #expect(peer.put("ada/x", 2) == denied)
    #expect(peer.merge(.root, [("public/x", 2), ("ada/x", 2)]) == denied)
    #expect(server.data(in: "ns") == ["ada": ["x": 1], "public": ["x": 1]])
    #expect(peer.listen("public") == .ok)
    #expect(peer.put("public/x", 2) == .ok)
    // A refused listen hears nothing later.
    server.set("ada/x", 3, in: "ns")
    #expect(peer.news().isEmpty)
  }

  @Test func `Rules see the data that a write would leave`() {
    let peer = Peer(server)
    #expect(peer.put("public/locked", true) == denied)
    #expect(peer.put("public/open", true) == .ok)
  }

  @Test func `A refused write with a hash does not tell whether the hash fits`() {
    let peer = Peer(server)
    #expect(peer.put("ada/x", 2, hash: NodeHash.hash(7)) == denied)
  }

  @Test func `A token makes a session its bearer's, and the answer tells what it says`() {
    let peer = Peer(server)
    #expect(
      peer.ask(.authenticate(Credential("t-ada")))
        == Response(.ok, node: ["auth": ["uid": "ada", "role": "x"], "expires": 60]))
    #expect(peer.listen("ada") == .ok)
    #expect(peer.put("ada/x", 2) == .ok)
    #expect(peer.pushes == [.overwrite("ada/x", 2, tag: nil)])
    #expect(peer.put("bob/x", 2) == denied)
    #expect(
      peer.ask(.authenticate(Credential("t-bob")))
        == Response(.ok, node: ["auth": ["uid": "bob"]]))
    #expect(peer.put("bob/x", 2) == .ok)
  }

  @Test func `The rules do not bind an administrator`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-admin")))
    #expect(peer.listen(.root) == .ok)
    #expect(peer.put("ada/x", 9) == .ok)
  }

  @Test func `An administrator may be taken for somebody else, and nobody else may`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-admin", override: .claims(["uid": "ada"]))))
    #expect(peer.put("ada/x", 3) == .ok)
    #expect(peer.put("bob/x", 3) == denied)
    peer.ask(.authenticate(Credential("t-admin", override: .nobody)))
    #expect(peer.put("ada/x", 4) == denied)
    peer.ask(.authenticate(Credential("t-ada", override: .claims(["uid": "bob"]))))
    #expect(peer.put("bob/x", 4) == denied)
    #expect(peer.put("ada/x", 4) == .ok)
  }

  @Test func `Listens that another token may not have end`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-ada")))
    let spec = QuerySpec.first(1)
    peer.listen("ada")
    peer.listen("public")
    peer.listen("ada", spec, tag: 4)
    peer.session.receive(.request(100, .unauthenticate))
    server.set("ada/x", 5, in: "ns")
    server.set("public/x", 6, in: "ns")
    let inbox = peer.messages()
    #expect(
      inbox == [
        .response(100, .ok), .push(.listenRevoked("ada", .default)),
        .push(.listenRevoked("ada", spec)),
        .push(.overwrite("public/x", 6, tag: nil)),
      ])
  }

  @Test func `A listen ends under the query that it was asked with`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-ada")))
    // It loads all data, as the default one does, and is kept like that.
    peer.listen("ada", .byValue)
    peer.session.receive(.request(100, .unauthenticate))
    let inbox = peer.messages()
    #expect(inbox == [.response(100, .ok), .push(.listenRevoked("ada", .byValue))])
    let text = inbox.last.map { String(decoding: $0.encoded(), as: UTF8.self) }
    #expect(text == #"{"t":"d","d":{"a":"c","b":{"p":"ada","q":[{"i":".value"}]}}}"#)
  }

  @Test func `A refused token makes the session nobody's`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-ada")))
    #expect(
      peer.ask(.authenticate(Credential("forged")))
        == Response(.invalidToken, reason: TokenRefusal.invalid.reason))
    #expect(peer.put("ada/x", 2) == denied)
    clock.advance(by: 60_000)
    #expect(peer.ask(.authenticate(Credential("t-ada")))?.status == .expiredToken)
  }

  @Test func `A token that expires is revoked when time has passed, or at the next request`() {
    let (one, two) = (Peer(server), Peer(server))
    for peer in [one, two] {
      peer.ask(.authenticate(Credential("t-ada")))
      peer.listen("ada")
    }
    clock.advance(by: 59_999)
    server.tick()
    #expect(one.news().isEmpty)
    clock.advance(by: 1)
    let pushes: [Push] = [
      .authRevoked(.expiredToken, reason: TokenRefusal.expired.reason),
      .listenRevoked("ada", .default),
    ]
    #expect(two.put("ada/x", 2) == denied)
    #expect(two.pushes == pushes)
    #expect(one.news().isEmpty)
    server.tick()
    #expect(one.news() == pushes)
    server.tick()
    #expect(one.news().isEmpty)
  }

  @Test func `Tokens can be ended before their time`() {
    let peer = Peer(server)
    peer.ask(.authenticate(Credential("t-bob")))
    server.expireTokens(in: "ns")
    #expect(peer.news().first == .authRevoked(.expiredToken, reason: TokenRefusal.expired.reason))
    server.expireTokens(in: "ns")
    #expect(peer.news().isEmpty)
    tokens.set("t-bob", nil)
    #expect(peer.ask(.authenticate(Credential("t-bob")))?.status == .invalidToken)
  }

  @Test func `Other rules end the listens that they do not allow`() {
    let peer = Peer(server)
    peer.listen("public")
    server.setRules(ClosureRules(read: { _, _ in false }), in: "ns")
    #expect(peer.news() == [.listenRevoked("public", .default)])
    server.setRules(OpenRules(), in: "ns")
    #expect(peer.listen("public") == .ok)
  }

  @Test func `The open authenticator takes every token`() {
    let server = Server()
    let peer = Peer(server)
    #expect(
      peer.ask(.authenticate(Credential("ada"))) == Response(.ok, node: ["auth": ["uid": "ada"]]))
    #expect(peer.ask(.authenticate(Credential("owner")))?.status == .ok)
  }
}
