import ConiferTree
import TestSupport
import Testing

@testable import Conifer

@Suite struct `References` {
  let bench = ClientBench()

  @Test func `paths are built from the root`() {
    let room = bench.root.child("rooms/r1")
    #expect(room.key == "r1")
    #expect(room.path == "rooms/r1")
    #expect(room.parent?.key == "rooms")
    #expect(room.parent?.parent == bench.root)
    #expect(room.parent?.parent?.parent == nil)
    #expect(room.root == bench.root)
    #expect(bench.root.key == nil)
    #expect(room.ref === room)
    #expect(room.error == nil)
  }

  @Test(arguments: ["/rooms/r1", "rooms/r1/", "//rooms//r1//", "rooms/r1"])
  func `slashes around and between do not count`(text: String) {
    #expect(bench.root.child(text) == bench.database.reference(withPath: "rooms/r1"))
  }

  @Test(arguments: ["a.b", "a#", "$a", "a[", "a]", "a/b.c/d", ".priority", "a/.info", "a\u{7}"])
  func `a path with a forbidden character makes a reference with an error`(text: String) {
    let wrong = bench.root.child(text)
    #expect(wrong.error?.code == .invalidPath)
    #expect(wrong.child("x").error?.code == .invalidPath)
    #expect(wrong.childByAutoId().error?.code == .invalidPath)
    #expect(bench.database.reference(withPath: text).error?.code == .invalidPath)
  }

  @Test func `paths have limits of depth and length`() {
    let deep = Array(repeating: "k", count: 32).joined(separator: "/")
    #expect(bench.root.child(deep).error == nil)
    #expect(bench.root.child(deep + "/k").error?.code == .invalidPath)
    #expect(bench.root.child(deep).child("k").error?.code == .invalidPath)
    #expect(bench.root.child(String(repeating: "k", count: 767)).error == nil)
    #expect(bench.root.child(String(repeating: "k", count: 769)).error?.code == .invalidPath)
  }

  @Test func `the client's own places can be referred to`() {
    #expect(bench.database.reference(withPath: ".info/connected").error == nil)
    #expect(bench.database.reference(withPath: ".info/serverTimeOffset").key == "serverTimeOffset")
  }

  @Test func `keys are compared by their bytes`() {
    #expect(bench.root.child("caf\u{E9}") != bench.root.child("cafe\u{301}"))
    #expect(Set([bench.root.child("a"), bench.root.child("a/"), bench.root.child("b")]).count == 2)
    #expect(ClientBench().root != bench.root)
  }

  @Test func `new keys sort in the order of their making`() {
    let keys = (0..<500).compactMap { _ in bench.root.child("posts").childByAutoId().key }
    #expect(keys.count == 500)
    #expect(keys.allSatisfy { $0.utf8.count == 20 })
    #expect(keys.map { Key($0) } == keys.map { Key($0) }.sorted())
    #expect(Set(keys).count == 500)
  }

  @Test func `new keys stay in order when threads make them at once`() async {
    let gathered = Gathered<String>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var last = ""
          for _ in 0..<200 {
            let key = bench.root.childByAutoId().key ?? ""
            if !(Key(last) < Key(key)) { gathered.add("out of order") }
            gathered.add(key)
            last = key
          }
        }
      }
    }
    #expect(Set(gathered.all).count == 800)
    #expect(!gathered.all.contains("out of order"))
  }

  @Test func `a URL names the place, and gives it back`() throws {
    let configuration = try DatabaseConfiguration(url: "https://my-app.example.com")
    let bench = ClientBench(configuration)
    let place = bench.root.child("rooms/caf\u{E9} 1")
    #expect(place.url == "https://my-app.example.com/rooms/caf%C3%A9%201")
    #expect(bench.database.reference(fromURL: place.url) == place)
    #expect(bench.root.url == "https://my-app.example.com")
    #expect(
      bench.database.reference(fromURL: "https://MY-APP.example.com/a+b/c").path == "a b/c")
  }

  @Test func `a URL names the namespace where the host does not`() throws {
    let configuration = try DatabaseConfiguration(url: "http://localhost:9000?ns=my-app")
    let bench = ClientBench(configuration)
    #expect(configuration.namespace == "my-app")
    #expect(bench.root.child("a").url == "http://localhost:9000/a?ns=my-app")
    #expect(bench.database.reference(fromURL: bench.root.child("a/b").url).path == "a/b")
    #expect(bench.database.reference(fromURL: bench.root.url) == bench.root)
  }

  @Test(arguments: [
    "https://other.example.com/a", "https://my-app.example.org/a", "my-app.example.com/a", "",
    "ftp://my-app.example.com/a", "https:///a", "https://my-app.example.com?ns=other",
  ])
  func `a URL of something else makes a reference with an error`(url: String) throws {
    let bench = ClientBench(try DatabaseConfiguration(url: "https://my-app.example.com"))
    #expect(bench.database.reference(fromURL: url).error?.code == .invalidURL)
  }

  @Test(arguments: ["https://my-app.example.com/a.b", "https://my-app.example.com/a%2Fb"])
  func `a URL with a bad path makes a reference with an error`(url: String) throws {
    let bench = ClientBench(try DatabaseConfiguration(url: "https://my-app.example.com"))
    #expect(bench.database.reference(fromURL: url).error?.code == .invalidPath)
  }
}
