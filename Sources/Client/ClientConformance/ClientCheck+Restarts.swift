import Conifer
import ConiferServer
import ConiferTree

extension ClientCheck {
  static let restarts: [ClientCheck] = [
    ClientCheck("Offline writes of a run before reach the server once, in order") { trial in
      try await trial.start(isOnline: false)
      try trial.place("a").enqueue(.set(["x": 1]))
      try trial.place("a/y").enqueue(.set(2))
      try trial.place("a").enqueue(.priority(7))
      try trial.place("a").enqueue(.update(["z": 3, "x": Optional<Int>.none as Any]))
      for number in 1...11 { try trial.place("n").enqueue(.set(number)) }
      try await trial.waitUntilIdle()
      try await trial.start()
      let order = ["/a", "/a/y", "/a/.priority", "/a"] + Array(repeating: "/n", count: 11)
      try trial.expect("sent", trial.sent, order)
      let data = Node(children: [("y", 2), ("z", 3)], priority: Priority(7))
      try trial.expect("the server's data", trial.serverData("a"), data)
      try trial.expect("the last of eleven sets", trial.serverData("n"), 11)
      try await trial.start()
      try trial.expect("sent again", trial.sent, [])
    },
    ClientCheck("Offline writes show again after a restart without a connection") { trial in
      try await trial.start(isOnline: false)
      try trial.place("a").enqueue(.set(["x": 1]))
      try trial.place("a/y").enqueue(.set(2))
      try trial.place("n").enqueue(.set(5))
      try trial.place("n").enqueue(.set(ServerValue.increment(2)))
      try await trial.waitUntilIdle()
      try await trial.start(isOnline: false)
      trial.observe("a", try trial.place("a"))
      trial.observe("n", try trial.place("n"))
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told(), [#"a {"x":1,"y":2}"#, "n 7"])
    },
    ClientCheck("Unchanged data is not sent again, and changed data is") { trial in
      trial.serverSets("list", Node(children: (0..<50).map { (Key("k\($0 + 100)"), Node(1)) }))
      try await trial.start()
      trial.observe("l", try trial.place("list"))
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told().count, 1)
      try await trial.start()
      trial.observe("l", try trial.place("list"))
      try await trial.waitUntilIdle()
      try trial.expect("told after a restart", trial.told().count, 1)
      try trial.expect("data that came again", try trial.counts().dataUpdates, 0)
      try await trial.start(isOnline: false)
      trial.serverSets("list", .empty)
      trial.observe("l", try trial.place("list"))
      try await trial.waitUntilIdle()
      try trial.database().goOnline()
      try await trial.waitUntilIdle()
      try trial.expect("the last value", trial.told().last, "l null")
    },
    ClientCheck("The end of a write of a run before is found by its id, a refused write waits") {
      trial in
      try await trial.start(isOnline: false)
      let (one, two) = (
        try trial.place("a").enqueue(.set(1)), try trial.place("b").enqueue(.set(2))
      )
      guard let first = try await one.id, let second = try await two.id else {
        throw ClientFailure(description: "Writes have no ids.")
      }
      try await trial.start(isOnline: false)
      try trial.refuseNext()
      try trial.database().goOnline()
      try await trial.waitUntilIdle()
      try await trial.start(isOnline: false)
      let database = try trial.database()
      guard case .rejected = try await database.outcome(of: first) else {
        throw ClientFailure(description: "The refused write does not wait.")
      }
      try trial.expect("the other one", try await database.outcome(of: second), .acknowledged)
      try await database.retry(first)
      database.goOnline()
      try await trial.waitUntilIdle()
      try trial.expect("after a retry", try await database.outcome(of: first), .acknowledged)
      try trial.expect("the server's data", trial.serverData("a"), 1)
    },
    ClientCheck("A pin of a run before downloads again without being asked") { trial in
      try await trial.start()
      try trial.place("p").keepSynced(true)
      try await trial.waitUntilIdle()
      try await trial.start()
      trial.serverSets("p", 5)
      try await trial.waitUntilIdle()
      try await trial.start(isOnline: false)
      trial.observe("p", try trial.place("p"))
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told(), ["p 5"])
    },
  ]
}
