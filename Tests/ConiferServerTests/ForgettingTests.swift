import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import Testing

/// Databases that are forgotten when nobody uses them.
@Suite struct ForgettingTests {
  private let server = Server()

  @Test func `What has something to keep is not forgotten`() throws {
    server.set("x", 1, in: "data")
    #expect(!server.forget("data"))
    server.setRules(OpenRules(), in: "ruled")
    #expect(!server.forget("ruled"))
    server.setIndexes([], in: "indexed")
    #expect(!server.forget("indexed"))
    let peer = Peer(server, "used")
    #expect(!server.forget("used"))
    peer.ask(.onDisconnectPut("gone", true))
    peer.session.end()
    #expect(!server.forget("used"))
    server.set(.root, .empty, in: "used")
    #expect(server.forget("used"))
    server.set(.root, .empty, in: "data")
    #expect(server.forget("data"))
    #expect(server.forget("never"))
    #expect(server.namespaces == ["indexed", "ruled"])
    // What is set again before each use is not worth keeping.
    server.markPrepared("ruled")
    #expect(server.forget("ruled"))
  }

  @Test func `Rules of all hold for what comes later, and take the place of single ones`() {
    server.setRules(ClosureRules(read: { _, _ in true }), in: "own")
    let peer = Peer(server, "own")
    #expect(peer.listen("a") == .ok)
    server.setRules(ClosureRules(read: { _, _ in false }))
    #expect(peer.news() == [.listenRevoked("a", .default)])
    for name in ["own", "later", "none"] {
      if name == "later" { server.set("x", 1, in: name) }
      #expect(server.read(QueryTarget("a"), as: nil, in: name).status == .permissionDenied)
      #expect(!server.isOpen(name))
    }
    #expect(server.namespaces == ["later", "own"])
  }

  @Test func `Whatever is asked while databases are forgotten is done`() async {
    let server = server
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<200 {
            let (name, key) = ("n\(round % 3)", Key("t\(task)"))
            let path = Path([key])
            switch (task + round) % 3 {
            case 0:
              let put = await server.perform(.put(path, 1, hash: nil), as: nil, in: name)
              #expect(put.response == .ok)
            case 1: server.set(path, 1, in: name)
            default:
              let peer = Peer(server, name)
              #expect(peer.hello != nil)
              #expect(peer.put(path, 1) == .ok)
              peer.session.end()
            }
            #expect(server.data(path, in: name) == 1)
            server.set(path, .empty, in: name)
            _ = server.forget(name)
          }
        }
      }
    }
    for name in server.namespaces { #expect(server.forget(name)) }
    #expect(server.namespaces.isEmpty)
  }
}
