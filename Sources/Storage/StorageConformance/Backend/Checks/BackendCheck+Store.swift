internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree
internal import Dispatch

extension BackendCheck {
  /// Atomic commits, also from many tasks.
  static let atomicity: [BackendCheck] = [
    BackendCheck(
      .store, "a commit with an invalid edit changes nothing, wherever it is", .halfBatch
    ) { fixture in
      let pair = try await fixture.pair()
      let (tree, lane) = (pair.tree, pair.lane)
      try await pair.commit(
        .overwrite(tree, .root, ["a": ["b": 1], "c": .text(80_000)]), .enqueue(lane, .set("a", 1)),
        .saveQuery(TrackedQuery(tree: tree, path: "a")), .pin(Pin(tree: tree, path: "a")))
      let usage = try pair.usage(nil)
      let good: [StorageEdit] = [
        .overwrite(tree, "a", 5), .overwrite(tree, "c", .empty),
        .overwrite(tree, "d", .text(300_000)),
        .merge(tree, "e", [.init("f", 1)]), .prune(tree, PruneForest([.root: .prune])),
        .enqueue(lane, .set("b", 2)), .setState(lane, WriteID(rawValue: 1), .sent),
        .finish(lane, WriteID(rawValue: 1), .acknowledged),
        .saveQuery(TrackedQuery(tree: tree, path: "z")),
        .setTrackedKeys(tree, QueryID(rawValue: 1), ["k"]), .unpin(Pin(tree: tree, path: "a")),
        .setMetadata(tree, "name", [1]), .overwrite(pair.other, "x", 1),
      ]
      let bad: [StorageEdit] = [
        .overwrite(TreeID(rawValue: 4_000_000), "a", 1),
        .finish(lane, WriteID(rawValue: 999), .acknowledged),
        .setTrackedKeys(tree, QueryID(rawValue: 999), []),
        .setState(lane, WriteID(rawValue: 999), .sent),
      ]
      for (index, edit) in bad.enumerated() {
        for place in [0, 4, good.count] {
          var edits = good
          edits.insert(edit, at: place)
          try await expect(.invalid, "bad edit \(index)") { () throws(StoreError) in
            try await pair.backend.commit(edits)
          }
          try pair.requireSame("after bad edit \(index) at \(place)")
        }
      }
      try requireEqual(try pair.usage(nil), usage, "the usage after refused commits")
      try await pair.commit(good)
      try pair.requireSame("after the good edits alone")
    },
    BackendCheck(.store, "an empty commit is a commit, and numbers of commits rise", .reusedID) {
      fixture in
      let pair = try await fixture.pair()
      var last = try await pair.commit([]).commit
      for index in 0..<5 {
        let next = try await pair.commit(.overwrite(pair.tree, "a", Node(.integer(Int64(index)))))
          .commit
        try require(next > last, "commit \(next.rawValue) follows \(last.rawValue)")
        last = next
      }
      try await pair.backend.harden(last)
      try pair.requireSame()
    },
    BackendCheck(.store, "commits of 16 tasks are all applied, each one whole", .halfBatch) {
      fixture in
      let pair = try await fixture.pair()
      let (backend, tree) = (pair.backend, pair.tree)
      let writes = try await withThrowingTaskGroup(of: [WriteID].self) { group in
        for task in 0..<16 {
          group.addTask {
            var ids: [WriteID] = []
            for round in 0..<12 {
              let value = Node(.integer(Int64(round)))
              let receipt = try await backend.commit([
                .overwrite(tree, Path("task\(task)/\(round)"), value),
                .overwrite(tree, Path("last\(task)"), value),
                .enqueue(Lane(tree: tree), .set(Path("task\(task)"), value)),
                .enqueue(Lane(tree: tree, identity: "\(task)"), .set(Path("task\(task)"), value)),
              ])
              try require(receipt.writes.count == 2, "a receipt of \(receipt.writes.count) writes")
              try require(
                receipt.writes[1].rawValue == UInt64(round + 1),
                "write \(receipt.writes[1].rawValue) in round \(round) of a lane of its own")
              ids.append(receipt.writes[0])
            }
            return ids
          }
        }
        var all: [WriteID] = []
        for try await ids in group {
          try require(ids == ids.sorted(), "a task's writes were queued out of order")
          all += ids
        }
        return all
      }
      try requireEqual(Set(writes).count, 16 * 12, "the number of different writes")
      try await pair.reopen()
      let list = Node(children: (0..<12).map { (Key($0), Node(.integer(Int64($0)))) })
      guard fixture.factory.declared.isPersistent || pair.backend === backend else { return }
      for task in 0..<16 {
        let found = try pair.read(Path("task\(task)"))
        if let bad = found.difference(from: list) {
          throw ConformanceFailure("task \(task): \(bad)")
        }
      }
      let totals = try pair.totals(pair.lane)
      try requireEqual(totals.pending, 16 * 12, "the number of waiting writes")
      try requireEqual(totals.newest, WriteID(rawValue: 16 * 12), "the newest write")
    },
    BackendCheck(
      .store, "commits of waiting threads are applied, and refused ones throw", .halfBatch
    ) {
      fixture in
      let pair = try await fixture.pair()
      let (backend, tree) = (pair.backend, pair.tree)
      let durability = backend.traits.durability
      let failures = await withTaskGroup(of: Int.self) { group in
        for thread in 0..<4 {
          group.addTask {
            await onThread {
              let lane = Lane(tree: tree, identity: "\(thread)")
              var failures = 0
              for round in 0..<12 {
                do throws(StoreError) {
                  let receipt = try backend.commitAndWait(
                    [
                      .overwrite(tree, Path("thread\(thread)"), Node(.integer(Int64(round)))),
                      .enqueue(lane, .set(Path("thread\(thread)"), 1)),
                    ], durability)
                  if receipt.writes != [WriteID(rawValue: UInt64(round + 1))] { failures += 1 }
                } catch {
                  failures += 1
                }
              }
              do throws(StoreError) {
                _ = try backend.commitAndWait(
                  [.finish(lane, WriteID(rawValue: 999), .acknowledged)], durability)
                failures += 1
              } catch {
                if error.code != .invalid { failures += 1 }
              }
              return failures
            }
          }
        }
        return await group.reduce(0, +)
      }
      try requireEqual(failures, 0, "the number of wrong answers")
      for thread in 0..<4 {
        try requireEqual(try pair.read(Path("thread\(thread)")), 11, "what thread \(thread) wrote")
        let totals = try pair.totals(Lane(tree: tree, identity: "\(thread)"))
        try requireEqual(totals.pending, 12, "the number of waiting writes of thread \(thread)")
      }
    },
    BackendCheck(
      .store,
      "opening refuses a durability that the store cannot keep, and accepts the strongest"
    ) { fixture in
      let strongest = fixture.factory.declared.strongest
      for level in Durability.allCases {
        if level <= strongest {
          let backend = try fixture.open { $0.durability = .exactly(level) }
          try requireEqual(backend.traits.durability, level, "the durability that was asked for")
          try await backend.close()
        } else {
          try await expect(.unsupported, "opening at \(level)") { () throws(StoreError) in
            var options = fixture.factory.options
            options.durability = .exactly(level)
            return try fixture.factory.open(fixture.directory, options)
          }
        }
      }
      let backend = try fixture.open { $0.durability = .strongest }
      try requireEqual(backend.traits.durability, strongest, "the strongest durability")
      _ = try await backend.tree(named: "t")
    },
    BackendCheck(.store, "every durability up to the strongest is accepted, none above") {
      fixture in
      let pair = try await fixture.pair()
      for level in Durability.allCases {
        let edit = StorageEdit.overwrite(pair.tree, "a", Node(.integer(Int64(level.rawValue))))
        if level <= fixture.factory.declared.strongest {
          let receipt = try await pair.backend.commit([edit], level)
          try await pair.backend.harden(receipt.commit)
          _ = try pair.model.commit([edit])
        } else {
          try await expect(.unsupported, "durability \(level)") { () throws(StoreError) in
            try await pair.backend.commit([edit], level)
          }
        }
        try pair.requireSame("at durability \(level)")
      }
    },
    BackendCheck(.store, "metadata is kept by name and tree", .wrongData) { fixture in
      let pair = try await fixture.pair()
      let (tree, other) = (pair.tree, pair.other)
      let names = ["a", "ab", "", "caf\u{E9}", "cafe\u{301}", String(repeating: "n", count: 200)]
      for (index, name) in names.enumerated() where !name.isEmpty {
        try await pair.commit(.setMetadata(tree, name, Array(name.utf8) + [UInt8(index)]))
      }
      try await pair.commit(
        .setMetadata(other, "a", []), .setMetadata(tree, "big", Array(repeating: 7, count: 50_000)),
        .setMetadata(tree, "ab", nil), .setMetadata(tree, "nobody", nil))
      try await pair.reopen()
      let model = ModelView(pair.model)
      for name in names + ["big", "nobody"] where !name.isEmpty {
        for id in [tree, other] {
          let found = try pair.backend.read { (view) throws(StoreError) in
            try view.metadata(id, name)
          }
          try requireEqual(found, try model.metadata(id, name), "the bytes under \"\(name)\"")
        }
      }
    },
  ]

  /// Closing, suspending, owning.
  static let lifecycle: [BackendCheck] = [
    BackendCheck(.store, "traits are what was declared and asked for, and stay") { fixture in
      let budget = fixture.factory.options.budget
      let backend = try fixture.open { $0.budget = budget }
      let traits = backend.traits
      try requireEqual(traits.store, fixture.factory.declared, "traits.store")
      try requireEqual(traits.budget, budget, "traits.budget")
      try requireEqual(
        backend is any EvictingBackend, fixture.factory.evicts, "whether it is an EvictingBackend")
      try requireEqual(
        backend is any DocumentBackend, fixture.factory.keepsDocuments,
        "whether it is a DocumentBackend")
      try requireEqual(
        backend is any VerifyingBackend, fixture.factory.verifies,
        "whether it is a VerifyingBackend")
      try requireEqual(traits.role, fixture.factory.options.role, "traits.role")
      try requireEqual(
        traits.compression, fixture.factory.options.compression, "traits.compression")
      _ = try await backend.tree(named: "t")
      try requireEqual(backend.traits, traits, "the traits later")
      try await backend.close()
      try requireEqual(
        try fixture.open { $0.budget = budget }.traits, traits, "the traits after reopening")
    },
    BackendCheck(.store, "a new store holds nothing", .phantom) { fixture in
      let backend = try fixture.open()
      let found = try backend.read { (view) throws(StoreError) in
        (try view.trees(), try view.usage(nil), try view.incidents())
      }
      try requireEqual(found.0, [], "the list of trees")
      try requireEqual(found.1.leafBytes + found.1.queue + found.1.leaves, 0, "the usage")
      try requireEqual(found.2, [], "the list of incidents")
    },
    BackendCheck(.store, "a closed backend answers closed, and closes twice", .wrongError) {
      fixture in
      let pair = try await fixture.pair()
      let (backend, tree) = (pair.backend, pair.tree)
      let last = try await backend.commit([.overwrite(tree, "a/b", 1)]).commit
      // Reads that memory could answer are refused as well.
      _ = try backend.node(tree, "a/b")
      try await backend.close()
      try await backend.close()
      try await expect(.closed, "a commit") { () throws(StoreError) in
        try await backend.commit([.overwrite(tree, "a", 2)])
      }
      try await expect(.closed, "a read") { () throws(StoreError) in
        try backend.read { (view) throws(StoreError) in try view.node(tree, "a") }
      }
      try await expect(.closed, "the read of one node") { () throws(StoreError) in
        try backend.node(tree, "a/b")
      }
      try await expect(.closed, "making a tree") { () throws(StoreError) in
        try await backend.tree(named: "third")
      }
      try await expect(.closed, "harden") { () throws(StoreError) in
        try await backend.harden(last)
      }
      try await expect(.closed, "tidy") { () throws(StoreError) in
        try await backend.tidy(.milliseconds(1))
      }
      try await expect(.closed, "size") { () throws(StoreError) in try backend.size() }
      try await expect(.closed, "suspend") { () throws(StoreError) in
        try await backend.suspend()
      }
      try await expect(.closed, "resume") { () throws(StoreError) in try await backend.resume() }
    },
    BackendCheck(.store, "a suspended backend answers suspended until it resumes", .wrongError) {
      fixture in
      let pair = try await fixture.pair()
      let (backend, tree) = (pair.backend, pair.tree)
      try await pair.set("a", ["b": 1])
      _ = try backend.node(tree, "a/b")
      try await backend.suspend()
      if let locks = System.lastingLocks(under: fixture.directory) {
        try requireEqual(locks, [], "the list of file locks while suspended")
      }
      try await expect(.suspended, "a commit") { () throws(StoreError) in
        try await backend.commit([.overwrite(tree, "a", 2)])
      }
      try await expect(.suspended, "a read") { () throws(StoreError) in
        try backend.read { (view) throws(StoreError) in try view.node(tree, "a") }
      }
      try await expect(.suspended, "the read of one node") { () throws(StoreError) in
        try backend.node(tree, "a/b")
      }
      try await backend.resume()
      try await backend.resume()
      try pair.requireSame("after resuming")
      try await pair.set("a/c", 2)
      try await backend.suspend()
      try await backend.close()
      try await pair.reopen()
      if fixture.factory.declared.isPersistent {
        try pair.requireSame("after closing while suspended")
      }
    },
  ]

  /// Promises of persistent stores only.
  static let reopening: [BackendCheck] = [
    BackendCheck(.store, "everything is as before after closing and opening", .lostAcknowledged) {
      fixture in
      let pair = try await fixture.pair()
      let lane = Lane(tree: pair.tree, identity: "ada")
      var random = SeededRandom(seed: 47)
      for round in 0..<8 {
        try await pair.commit(
          .overwrite(pair.tree, random.path(2), random.node(depth: 3, width: 9)),
          .overwrite(pair.other, random.path(2), random.node(depth: 2, width: 5)),
          .saveQuery(TrackedQuery(tree: pair.tree, path: random.path(2), lastUse: UInt64(round))),
          .pin(Pin(tree: pair.tree, path: random.path(2))),
          .enqueue(lane, .set(random.path(3), random.node(depth: 2, width: 3))),
          .setMetadata(pair.tree, "round", [UInt8(round)]))
        try await pair.reopen()
        try pair.requireSame("after opening for the \(round + 1). time")
      }
    },
    BackendCheck(.store, "commits of every durability survive an orderly close", .lostAcknowledged)
    { fixture in
      let pair = try await fixture.pair()
      for level in Durability.allCases where level <= fixture.factory.declared.strongest {
        let edits: [StorageEdit] = [
          .overwrite(pair.tree, Path("level\(level.rawValue)"), .text(3000)),
          .enqueue(pair.lane, .set("a", 1)),
        ]
        _ = try pair.model.commit(edits)
        _ = try await pair.backend.commit(edits, level)
        try await pair.reopen()
        try pair.requireSame("at durability \(level)")
      }
    },
    BackendCheck(.store, "a second opener is told that the store is busy", .wrongError) { fixture in
      let pair = try await fixture.pair()
      try await expect(.busy, "a second opener") { () throws(StoreError) in
        try fixture.factory.open(fixture.directory, fixture.factory.options)
      }
      try await pair.set("a", 1)
      try pair.requireSame("after a second opener was refused")
      try await pair.reopen()
      try pair.requireSame("after reopening")
    },
  ]

  /// Promises of stores that are not persistent.
  static let forgetting: [BackendCheck] = [
    BackendCheck(
      .store, "a store that is not persistent forgets everything when it closes", .resurrected
    ) {
      fixture in
      let pair = try await fixture.pair()
      try await pair.commit(.overwrite(pair.tree, "a", 1), .enqueue(pair.lane, .set("a", 1)))
      try await pair.backend.close()
      let next = try fixture.open()
      let trees = try next.read { (view) throws(StoreError) in try view.trees() }
      try requireEqual(trees, [], "the list of trees")
    }
  ]
}

/// Runs a closure on a thread outside of Swift's task pool.
private func onThread<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(returning: body()) }
  }
}
