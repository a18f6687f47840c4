import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Testing

/// Requests that no session makes.
@Suite struct RequestTests {
  private let clock = ServerClock(stoppedAt: 1000)
  private let ada = VerifiedToken(uid: "ada")
  private let admin = VerifiedToken(uid: "", isAdmin: true)
  private let denied = Response(.permissionDenied, reason: "Permission denied")

  private func server() -> Server {
    let rules = ClosureRules(
      read: { target, context in context.auth?.uid == "ada" && target.path.first == "ada" },
      write: { path, _, context in context.auth?.uid == "ada" && path.first == "ada" })
    let server = Server(
      ServerConfiguration(rules: rules, limits: ServerLimits(write: 100), clock: clock))
    server.set("ada", ["x": 1], in: "ns")
    return server
  }

  @Test func `The rules bind whoever asks, but an administrator`() async {
    let server = server()
    let target = QueryTarget("ada")
    #expect(server.read(target, as: nil, in: "ns") == denied)
    #expect(server.read(target, as: ada, in: "ns").node == ["x": 1])
    #expect(server.read(QueryTarget(.root), as: ada, in: "ns") == denied)
    #expect(server.read(QueryTarget(.root), as: admin, in: "ns").node == ["ada": ["x": 1]])
    for (token, isAllowed) in [(nil, false), (ada, true), (admin, true)] {
      let put = await server.perform(.put("ada/x", 2, hash: nil), as: token, in: "ns")
      #expect(put.response == (isAllowed ? .ok : denied))
      let changes = [NodeChange("ada/y", 1), NodeChange("bob", 2)]
      let merge = await server.perform(.merge(.root, changes), as: token, in: "ns")
      #expect(merge.response == (token == admin ? .ok : denied))
      #expect(merge.written.isEmpty == (token != admin))
      let get = await server.perform(.get(target), as: token, in: "ns")
      #expect((get.response.status == .ok) == isAllowed)
    }
  }

  @Test func `A write is answered with what it wrote`() async {
    let server = server()
    let increment = Node(.serverValue(.increment(4)))
    let put = await server.perform(.put("ada/x", increment, hash: nil), as: ada, in: "ns")
    #expect(put.written == [NodeChange("ada/x", 5)])
    let stale = await server.perform(.put("ada/x", 7, hash: "-"), as: ada, in: "ns")
    #expect(stale.response.status == .dataStale)
    #expect(stale.written.isEmpty)
    let hash = NodeHash.hash(5)
    let fresh = await server.perform(.put("ada/x", 7, hash: hash), as: ada, in: "ns")
    #expect(fresh.response == .ok)
    let large = Node(.string(String(repeating: "x", count: 200)))
    let refused = await server.perform(.put("ada/y", large, hash: nil), as: ada, in: "ns")
    #expect(refused.response.status == .tooBig)
    let taken = await server.perform(
      .put("ada/y", large, hash: nil), as: ada, in: "ns", limit: 1000)
    #expect(taken.response == .ok)
    let listen = Request.listen(QueryTarget("ada"), tag: nil, hash: "", compound: nil)
    #expect(await server.perform(listen, as: ada, in: "ns").response.status == .failure)
  }

  @Test func `Sessions are told of writes that no session made`() async {
    let server = Server()
    let peer = Peer(server)
    peer.listen("a")
    _ = await server.perform(.put("a/b", 1, hash: nil), as: nil, in: "ns")
    #expect(peer.news() == [.overwrite("a/b", 1, tag: nil)])
    let changes = [NodeChange("b", 2), NodeChange("c", 3)]
    _ = await server.perform(.merge("a", changes), as: nil, in: "ns")
    #expect(peer.news() == [.merge("a", changes, tag: nil)])
  }

  @Test func `A read asks for an index also of an order alone`() throws {
    let server = Server()
    let byName = try QuerySpec.default.ordered(byChild: "name")
    let target = QueryTarget("users", byName)
    #expect(server.read(target, as: nil, in: "ns").warnings == [])
    server.setIndexes([], in: "ns")
    #expect(server.read(target, as: nil, in: "ns").warnings == ["no_index"])
    server.setIndexes([try IndexDefinition("users", by: .child("name"))], in: "ns")
    #expect(server.read(target, as: nil, in: "ns").warnings == [])
  }

  @Test func `A session that was given a checked token is its bearer's until its time is over`() {
    let server = server()
    let peer = Peer(server)
    #expect(peer.listen("ada") == denied)
    peer.session.adopt(VerifiedToken(uid: "ada", expires: 2000))
    #expect(peer.listen("ada") == .ok)
    clock.advance(by: 1000)
    server.tick()
    #expect(
      peer.news() == [
        .authRevoked(.expiredToken, reason: "The token has expired."),
        .listenRevoked("ada", .default),
      ])
    peer.session.adopt(ada)
    #expect(peer.listen("ada") == .ok)
    peer.session.adopt(nil)
    #expect(peer.news() == [.listenRevoked("ada", .default)])
  }

  @Test func `Reading makes no database`() {
    let server = server()
    #expect(server.read(QueryTarget("ada"), as: ada, in: "other").node.isEmpty)
    #expect(server.read(QueryTarget("bob"), as: ada, in: "other") == denied)
    #expect(!server.isOpen("other"))
    #expect(Server().isOpen("other"))
  }

  @Test func `A token is checked against the time`() throws {
    let tokens = TokenTable(["t": VerifiedToken(uid: "ada", expires: 2000)])
    let server = Server(ServerConfiguration(authenticator: tokens, clock: clock))
    #expect(try server.verify(Credential("t")).uid == "ada")
    clock.advance(by: 1000)
    #expect(throws: TokenRefusal.expired) { try server.verify(Credential("t")) }
    #expect(throws: TokenRefusal.invalid) { try server.verify(Credential("u")) }
  }
}
