import Conifer
import ConiferTree

extension ClientCheck {
  static let offline: [ClientCheck] = [
    ClientCheck("What was cached is read offline, at its place and below") { trial in
      trial.serverSets("a", ["b": ["c": 1], "d": 2])
      try await trial.start()
      trial.observe("a", try trial.place("a"))
      try await trial.waitUntilIdle()
      try await trial.start(isOnline: false)
      trial.observe("c", try trial.place("a/b/c"))
      trial.observe("a", try trial.place("a"))
      trial.observe("gone", try trial.place("a/x"))
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told(), ["c 1", #"a {"b":{"c":1},"d":2}"#, "gone null"])
    },
    ClientCheck("A query shows offline what is known of it, and its value after connecting") {
      trial in
      let orders: [(String, (DatabaseQuery) -> DatabaseQuery)] = [
        ("value", { $0.queryOrderedByValue() }), ("key", { $0.queryOrderedByKey() }),
        ("child", { $0.queryOrdered(byChild: "n") }), ("priority", { $0.queryOrderedByPriority() }),
      ]
      for (name, order) in orders {
        let children = (1...6).map { number -> (Key, Node) in
          let node: Node =
            name == "child" ? ["n": Node(.integer(Int64(number)))] : Node(.integer(Int64(number)))
          return (Key("k\(number)"), node)
        }
        trial.serverSets(Path(name), Node(children: children))
        try await trial.start()
        trial.observe("four", order(try trial.place(name)).queryLimited(toLast: 4))
        try await trial.waitUntilIdle()
        try await trial.start(isOnline: false)
        for type in [DataEventType.childAdded, .value] {
          trial.observe("two", order(try trial.place(name)).queryLimited(toLast: 2), type)
          trial.observe("six", order(try trial.place(name)).queryLimited(toLast: 6), type)
        }
        try await trial.waitUntilIdle()
        var told = trial.told().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        try trial.expect(
          "two by \(name)", told.filter { $0.hasPrefix("two") }, ["two k5", "two k6"])
        let four = (3...6).map { "six k\($0)" }
        try trial.expect("six by \(name)", told.filter { $0.hasPrefix("six") }, four)
        try trial.database().goOnline()
        try await trial.waitUntilIdle()
        told = trial.told().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        let rest = told.filter { $0.hasPrefix("six k") }
        try trial.expect("the rest by \(name)", rest, ["six k1", "six k2"])
        try trial.expect("values by \(name)", told.count, 4)
      }
    },
    ClientCheck("A transaction offline shows at once, and counts once") { trial in
      try await trial.start()
      trial.serverSets("n", 1)
      trial.observe("n", try trial.place("n"))
      try await trial.waitUntilIdle()
      try trial.database().goOffline()
      try trial.place("n").runTransactionBlock { data in
        data.value = (data.value as? Int ?? 0) + 1
        return TransactionResult.success(withValue: data)
      } andCompletionBlock: { _, _, _ in
      }
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told(), ["n 1", "n 2"])
      trial.serverSets("n", 10)
      try trial.database().goOnline()
      try await trial.waitUntilIdle()
      try trial.expect("the server's data", trial.serverData("n"), 11)
    },
    ClientCheck("Purged writes are never sent, and what they hid shows") { trial in
      trial.serverSets("a", 1)
      try await trial.start()
      trial.observe("a", try trial.place("a"))
      try await trial.waitUntilIdle()
      try trial.database().goOffline()
      let write = try trial.place("a").enqueue(.set(2))
      try await trial.waitUntilIdle()
      try trial.database().purgeOutstandingWrites()
      try await trial.waitUntilIdle()
      try trial.expect("told", trial.told(), ["a 1", "a 2", "a 1"])
      try trial.expect("the outcome", try await write.outcome, .discarded)
      try await trial.start()
      try trial.expect("sent", trial.sent, [])
    },
  ]
}
