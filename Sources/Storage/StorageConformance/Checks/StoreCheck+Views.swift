internal import ConiferKeyValue
internal import Synchronization

extension StoreCheck {
  static var views: [StoreCheck] {
    [
      StoreCheck("A view is frozen under later commits", .staleView) { factory in
        try await Trial.store(factory) { store in
          var model = Model()
          var held: [(view: any OrderedView, model: Model)] = []
          defer { for entry in held { entry.view.close() } }
          for round in 0..<24 {
            held.append((try store.view(), model))
            var batch = Batch()
            for i in 0..<20 { batch.put(.a, key((round * 7 + i * 3) % 60), value(round, 40)) }
            batch.put(.b, key(round), value(round, 3000))
            if round % 5 == 4 { batch.clear(.a, from: key(10), to: key(40)) }
            if round % 7 == 6 { batch.clear(.b, from: [], to: [0xFF]) }
            try store.commit(batch)
            model.apply(batch)
          }
          for (i, entry) in held.enumerated() {
            try entry.model.compare(entry.view, [.a, .b], "view \(i) of 24 that are open together")
          }
          try store.reading { try model.compare($0, [.a, .b], "the newest view") }
        }
      },
      StoreCheck("A view outlives the clearing of all it sees", .staleView) { factory in
        try await Trial.store(factory) { store in
          var fill = Batch()
          for i in 0..<500 { fill.put(.a, key(i), value(i, 200)) }
          try store.commit(fill)
          var model = Model()
          model.apply(fill)
          let view = try store.view()
          defer { view.close() }
          try store.change { $0.clear(.a, from: [], to: [0xFF]) }
          for round in 0..<10 {
            try store.change { batch in
              for i in 0..<500 { batch.put(.b, key(i), value(round, 200)) }
            }
          }
          try model.compare(view, [.a, .b], "a view from before the clear")
        }
      },
      StoreCheck("A view taken inside a walk sees the newest commit, the walk its own", .staleView)
      { factory in
        try await Trial.store(factory) { store in
          try store.change { batch in for i in 0..<10 { batch.put(.a, key(i), [1]) } }
          let view = try store.view()
          defer { view.close() }
          var nested: Bytes?
          var newest: [Bytes?] = []
          let rows = try view.rows(.a) { row in
            guard row.key == key(3) else { return .next }
            nested = try? view.value(.a, key(7))
            _ = try? store.change { batch in
              batch.put(.a, key(7), [2])
              batch.delete(.a, key(8))
              batch.put(.a, key(10), [2])
            }
            newest =
              (try? store.reading { view in try [7, 8, 10].map { try view.value(.a, key($0)) } })
              ?? []
            return .next
          }
          try require(nested == [1], "a get inside a walk of the same view failed")
          try require(
            newest == [[2], nil, [2]], "a view taken inside a walk does not see the newest commit")
          try require(
            rows == (0..<10).map { Model.Row(key: key($0), value: [1]) },
            "a commit inside a walk changed what the walk saw")
        }
      },
      StoreCheck("Views are read on any thread while commits go on", .dirtyView) { factory in
        try await Trial.store(factory) { store in
          let rounds = 60
          @Sendable func change(_ round: Int) throws {
            try store.change { batch in
              for i in 0..<50 { batch.put(.a, key(i), key(round)) }
              for i in 0..<10 { batch.put(.b, key(i), key(round)) }
            }
          }
          try change(0)
          let view = try store.view()
          let elsewhere = try await Task.detached { try view.rows(.a).count }.value
          view.close()
          try require(elsewhere == 50, "a view read on another thread has \(elsewhere) of 50 rows")
          let writer = Writer()
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
              group.addTask {
                var reads = 0
                while reads < rounds * 2 || !writer.isDone.load(ordering: .acquiring) {
                  reads += 1
                  // Readers that never rest may keep the writer out.
                  if reads > rounds * 2 { System.pause() }
                  // Every batch writes one value to all rows of both spaces: a mixture is a torn or a
                  // leaking view.
                  let seen = try store.reading { view in
                    try (0..<2).map { _ in
                      Set(try (view.rows(.a) + view.rows(.b)).map(\.value))
                    }
                  }
                  try require(seen[0].count == 1, "a view shows \(seen[0].count) commits at once")
                  try require(seen[0] == seen[1], "a view changed between two walks")
                }
              }
            }
            group.addTask {
              defer { writer.isDone.store(true, ordering: .releasing) }
              for round in 1...rounds { try change(round) }
            }
            try await group.waitForAll()
          }
        }
      },
      StoreCheck("A closed view throws closed, twice closed is fine", .wrongError) { factory in
        try await Trial.store(factory) { store in
          try store.change { $0.put(.a, [1], [1]) }
          let view = try store.view()
          let other = try store.view()
          defer { other.close() }
          view.close()
          view.close()
          try expectCode([.closed], "get of a closed view") { _ = try view.value(.a, [1]) }
          try expectCode([.closed], "walk of a closed view") { _ = try view.rows(.a) }
          let found = try other.value(.a, [1])
          try require(found == [1], "closing one view disturbed another")
        }
      },
      StoreCheck("Views and calls after close throw closed", .wrongError) { factory in
        try await Trial.run(factory) { trial in
          let store = try trial.open()
          try store.change { $0.put(.a, [1], [1]) }
          let view = try store.view()
          try store.close()
          try store.close()
          try expectCode([.closed], "get of a view after the store's close") {
            _ = try view.value(.a, [1])
          }
          try expectCode([.closed], "walk of a view after the store's close") {
            _ = try view.rows(.a)
          }
          view.close()
          try expectCode([.closed], "apply") { try store.change { $0.put(.a, [1], [1]) } }
          try expectCode([.closed], "view") { _ = try store.view() }
          try expectCode([.closed], "harden") { try store.harden(CommitID(rawValue: 1)) }
          try expectCode([.closed], "size") { _ = try store.size() }
          try expectCode([.closed], "tidy") { _ = try store.tidy(.milliseconds(1)) }
          try expectCode([.closed], "suspend") { try store.suspend() }
          try expectCode([.closed], "resume") { try store.resume() }
          // A view that is still referenced must not prevent reopening.
          let again = try trial.open()
          try again.close()
          view.close()
        }
      },
      StoreCheck("Space comes back once views are closed", .usageDrift) { factory in
        try await Trial.store(factory) { store in
          func overwrite(_ rounds: Range<Int>) throws {
            for round in rounds {
              try store.change { batch in
                for i in 0..<64 { batch.put(.a, key(i), value(round &+ i, 1000)) }
              }
              if round % 10 == 0 { _ = try store.reading { try $0.value(.a, key(1)) } }
            }
            for _ in 0..<200 { if try !store.tidy(.milliseconds(20)) { break } }
          }
          try overwrite(0..<60)
          let held = try store.view()
          try overwrite(60..<90)
          held.close()
          try overwrite(90..<120)
          let before = try store.size()
          try overwrite(120..<420)
          let most = before.file + before.file / 2 + (1 << 18)
          var after = try store.size()
          // An engine's own threads remove files later.
          for _ in 0..<200 where factory.worksInBackground && after.file > most {
            try await Task.sleep(for: .milliseconds(10))
            after = try store.size()
          }
          try require(
            after.file <= most,
            "300 overwrites of the same 64 KB let the files grow from \(before.file) to "
              + "\(after.file) bytes")
        }
      },
      StoreCheck("Size counts live data", .usageDrift) { factory in
        try await Trial.store(factory) { store in
          let empty = try store.size()
          try store.change { batch in for i in 0..<200 { batch.put(.b, key(i), value(i, 4000)) } }
          let full = try store.size()
          try require(
            full.live - empty.live >= 200 * 4000 / 8,
            "800 KB of values raised live from \(empty.live) to \(full.live) only")
          try require(
            full.live <= full.file + full.free && full.free >= 0 && full.file > 0,
            "size is invalid: \(full)")
          try store.change { $0.clear(.b, from: [], to: [0xFF]) }
          for _ in 0..<200 { if try !store.tidy(.milliseconds(20)) { break } }
          let cleared = try store.size()
          try require(
            cleared.live < full.live / 2,
            "clearing all left live at \(cleared.live) of \(full.live) bytes")
        }
      },
    ]
  }
}

/// What readers know of the task that commits beside them.
private final class Writer: Sendable {
  let isDone = Atomic(false)
}
