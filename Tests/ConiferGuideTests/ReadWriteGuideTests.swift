import Conifer
import ConiferServer
import Dispatch
import Foundation
import TestSupport
import Testing

/// Each section of "Read and write data on Apple platforms", run against a server.
@Suite(.serialized) struct `The guide to reading and writing` {
  let screen: BlogScreen
  let other = GuideApp.other

  init() async throws {
    _ = GuideApp.database
    screen = BlogScreen()
    try await other.reference().removeValue()
  }

  /// Waits until all that was written before has reached the server.
  func reachServer() async throws { try await screen.ref.child("barrier").setValue(1) }

  @Test func `basic writes replace what is at a place`() async throws {
    screen.addUser("u1", name: "ada")
    screen.rename("u1", to: "grace")
    try await reachServer()
    let users = try await other.reference(withPath: "users").getData()
    #expect(users.value as? [String: [String: String]] == ["u1": ["username": "grace"]])
    screen.addUser("u1", name: "joan")
    try await reachServer()
    let name = try await other.reference(withPath: "users/u1/username").getData()
    #expect(name.value as? String == "joan")
  }

  @Test func `a value observer is told at once and after each change, until it is removed`()
    async throws
  {
    let post = other.reference(withPath: "posts/p1")
    try await post.setValue(["title": "One"])
    screen.watchTitle(of: "p1")
    #expect(await eventually { screen.titles.last == "One" })
    try await post.child("title").setValue("Two")
    #expect(await eventually { screen.titles.last == "Two" })
    try await post.removeValue()
    #expect(await eventually { screen.titles.last == "none" })
    screen.stopWatching("p1")
    try await post.setValue(["title": "Three"])
    try await reachServer()
    #expect(screen.titles.last == "none")
  }

  @Test func `a snapshot of nothing exists not, and has no value`() async throws {
    let snapshot = try await screen.ref.child("posts/missing").getData()
    #expect(!snapshot.exists())
    #expect(snapshot.value == nil)
  }

  @Test func `data is read once from the server`() async throws {
    try await other.reference(withPath: "users/u1").setValue(["username": "ada"])
    await withCheckedContinuation { done in screen.readNameFromServer("u1") { done.resume() } }
    #expect(screen.shownName == "ada")
    await withCheckedContinuation { done in screen.readNameFromServer("u2") { done.resume() } }
    #expect(screen.shownName == "Unknown")
  }

  @Test func `data is read once with an observer, from the cache if it is there`() async throws {
    screen.addUser("u1", name: "ada")
    await withCheckedContinuation { done in screen.readNameOnce("u1") { done.resume() } }
    #expect(screen.shownName == "ada")
  }

  @Test func `a fan-out update writes both places or none`() async throws {
    let key = try #require(screen.publish("Title", by: "u1"))
    try await reachServer()
    for place in ["posts/\(key)", "user-posts/u1/\(key)"] {
      let title = try await other.reference(withPath: place).child("title").getData()
      #expect(title.value as? String == "Title")
    }
    GuideApp.transport.refuse(next: 1)
    let refused = try #require(screen.publish("Refused", by: "u1"))
    try await reachServer()
    #expect(try await !other.reference(withPath: "posts/\(refused)").getData().exists())
    #expect(try await !other.reference(withPath: "user-posts/u1/\(refused)").getData().exists())
    let rejected = try await GuideApp.database.rejectedWrites()
    for write in rejected { try await GuideApp.database.discard(write.id) }
    #expect(rejected.count == 1)
  }

  @Test func `a completion block tells that the data was saved, or why not`() async throws {
    screen.addUserAndTell("u1", name: "ada")
    #expect(await eventually { screen.message == "Saved at u1" })
    GuideApp.transport.refuse(next: 1)
    screen.addUserAndTell("u2", name: "ada")
    #expect(await eventually { screen.message.hasPrefix("Not saved: ") })
    #expect(screen.message.contains("permission"))
    for write in try await GuideApp.database.rejectedWrites() {
      try await GuideApp.database.discard(write.id)
    }
  }

  @Test func `data is deleted by removal, by nil, and several at once by an update`() async throws {
    let key = try #require(screen.publish("Title", by: "u1"))
    screen.addUser("u1", name: "ada")
    screen.addUser("u2", name: "grace")
    screen.removeUsers("u1", "u2")
    screen.unpublish(key, of: "u1")
    try await reachServer()
    for place in ["users", "posts", "user-posts"] {
      #expect(try await !other.reference(withPath: place).getData().exists())
    }
  }

  @Test func `removing the observers of a place leaves those of its children`() async throws {
    let told = Gathered<String>()
    let place = screen.ref.child("posts")
    place.observe(.value) { _ in told.add("place") }
    place.child("p1").observe(.value) { _ in told.add("child") }
    #expect(await told.wait { $0.contains("place") && $0.contains("child") })
    place.removeAllObservers()
    let before = told.all.filter { $0 == "place" }.count
    try await other.reference(withPath: "posts/p1").setValue(1)
    #expect(await told.wait { $0.filter { $0 == "child" }.count == 2 })
    #expect(told.all.filter { $0 == "place" }.count == before)
    place.child("p1").removeAllObservers()
  }

  @Test func `a transaction stars and unstars, and loses no other client's star`() async throws {
    let post = other.reference(withPath: "posts/p1")
    try await post.setValue(["title": "T", "stars": ["u9": true], "starCount": 1] as [String: Any])
    func star() async -> Bool {
      await withCheckedContinuation { done in
        screen.star("p1", by: "u1") { done.resume(returning: $0) }
      }
    }
    #expect(await star())
    let starred = try await post.getData().value as? [String: Any]
    #expect(starred?["starCount"] as? Int == 2)
    #expect(starred?["stars"] as? [String: Bool] == ["u9": true, "u1": true])
    #expect(starred?["title"] as? String == "T")
    #expect(await star())
    let unstarred = try await post.getData().value as? [String: Any]
    #expect(unstarred?["starCount"] as? Int == 1)
    #expect(unstarred?["stars"] as? [String: Bool] == ["u9": true])
  }

  @Test func `increments of two clients add up without a transaction`() async throws {
    screen.starByIncrement("p1", by: "u1")
    try await reachServer()
    try await other.reference(withPath: "posts/p1").updateChildValues([
      "starCount": ServerValue.increment(1), "stars/u2": true,
    ])
    let post = try await screen.ref.child("posts/p1").getData().value as? [String: Any]
    #expect(post?["starCount"] as? Int == 2)
    #expect(post?["stars"] as? [String: Bool] == ["u1": true, "u2": true])
  }

  @Test func `offline, writes show at once, and reach the server later`() async throws {
    let told = Gathered<String>()
    let place = screen.ref.child("users/u1/username")
    place.observe(.value) { told.add($0.value as? String ?? "none") }
    #expect(await told.wait { $0 == ["none"] })
    GuideApp.database.goOffline()
    screen.rename("u1", to: "ada")
    #expect(await told.wait { $0 == ["none", "ada"] })
    #expect(try await !other.reference(withPath: "users").getData().exists())
    GuideApp.database.goOnline()
    try await reachServer()
    let name = try await other.reference(withPath: "users/u1/username").getData()
    #expect(name.value as? String == "ada")
    #expect(told.all == ["none", "ada"])
    place.removeAllObservers()
  }
}

@Suite struct `Code of the main actor` {
  @Test @MainActor func `it is called back on the main actor, where the queue is the main one`()
    async
  {
    let world = GuideWorld("main-actor")
    let screen = MainActorScreen(
      DatabaseConfiguration(namespace: world.namespace, transport: world.server.transport()))
    // By a mark of the queue: on Linux the main queue leaves the main thread once a program waits.
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    let queues = Gathered<Bool>()
    screen.watch { queues.add(DispatchQueue.getSpecific(key: mark) == true) }
    #expect(await eventually { screen.title == "T" && screen.stars == 1 })
    #expect(queues.all.contains(true) && !queues.all.contains(false))
    await screen.database.close()
  }
}
