internal import ConiferKeyValue

extension StoreCheck {
  static var batches: [StoreCheck] {
    [
      StoreCheck("The edits of a batch take effect in their order", .wrongData) { factory in
        try await Trial.store(factory) { store in
          // Every sequence of three edits out of six, on a key that exists or not. Each sequence
          // has keys of its own, which begin with its number.
          func edits(_ order: Int) -> [Batch.Edit] {
            let n = UInt8(order)
            let kinds: [Batch.Edit] = [
              .put(.a, key: [n, 5], value: [1]), .put(.a, key: [n, 5], value: [2]),
              .delete(.a, key: [n, 5]), .clear(.a, from: [n, 5], to: [n, 6]),
              .clear(.a, from: [n, 4], to: [n, 5]), .clear(.a, from: [n], to: [n + 1]),
            ]
            return [kinds[order / 36], kinds[order / 6 % 6], kinds[order % 6]]
          }
          for isThere in [false, true] {
            var start = Batch()
            start.clear(.a, from: [], to: [0xFF])
            for n in 0..<216 as Range<UInt8> {
              start.put(.a, [n, 4], [4])
              if isThere { start.put(.a, [n, 5], [9]) }
              start.put(.a, [n, 6], [6])
            }
            let batch = Batch((0..<216).flatMap(edits))
            try store.commit(start)
            try store.commit(batch)
            var model = Model()
            model.apply(start)
            model.apply(batch)
            try store.reading { view in
              for order in 0..<216 {
                let origin = Origin.atOrAfter([UInt8(order)])
                let step = { (row: Model.Row) in
                  row.key.first == UInt8(order) ? Step.next : .stop
                }
                try Model.requireSame(
                  try view.rows(.a, origin, step), model.walk(.a, origin, step),
                  "\(edits(order)) on a key that is \(isThere ? "there" : "absent")")
              }
            }
          }
        }
      },
      StoreCheck("A space is found by its number, whatever shape is named", .wrongData) { factory in
        let shapes: [Space.Shape] = [.rows, .blobs, .fifo]
        func rows(_ store: any OrderedStore, _ id: UInt8, _ shape: Space.Shape) throws -> [Bytes] {
          try store.reading { view in
            let space = Space(id: id, shape: shape)
            let found = try view.rows(space).map(\.key)
            let isThere = try view.value(space, [1]) != nil
            try require(isThere == found.contains([1]), "a walk and a get differ")
            return found
          }
        }
        try await Trial.run(factory) { trial in
          for (number, written) in shapes.enumerated() {
            let id = UInt8(20 + number)
            let other = shapes[(number + 1) % 3]
            var store = try trial.open()
            try store.change { $0.put(Space(id: id, shape: written), [1], [1]) }
            if factory.declared.isPersistent {
              try store.close()
              store = try trial.open()
            }
            // The first that is asked after an opening is the other shape.
            for shape in [other] + shapes {
              let found = try rows(store, id, shape)
              try require(found == [[1]], "\(written) are not found as \(shape)")
            }
            try store.change { $0.put(Space(id: id, shape: other), [2], [2]) }
            for shape in shapes {
              let found = try rows(store, id, shape)
              try require(found == [[1], [2]], "\(other) beside \(written) give \(found)")
            }
            try store.change { $0.delete(Space(id: id, shape: other), [1]) }
            try require(try rows(store, id, written) == [[2]], "\(written) stay as \(other)")
            try store.change { $0.clear(Space(id: id, shape: other), from: [], to: [9]) }
            try require(try rows(store, id, written) == [], "\(written) stay as \(other)")
            try store.close()
          }
        }
      },
      StoreCheck("A clear removes exactly its range", .wrongData) { factory in
        try await Trial.store(factory) { store in
          let keys = adversarialKeys.filter { $0.count < 3 && $0.first != 0xC3 }
          var fill = Batch()
          for space in [Space.lowest, .a, .b] {
            for (i, key) in keys.enumerated() { fill.put(space, key, [UInt8(i)]) }
          }
          let edges = keys + [[0x61, 0x61], [0xFF, 0xFF, 0xFF, 0xFF]]
          for (i, from) in edges.enumerated() {
            for (j, to) in edges.enumerated() {
              var clear = Batch()
              clear.clear(.a, from: from, to: to)
              if (i + j) % 4 == 0 {
                try store.commit(fill)
                try store.commit(clear)
              } else {
                try store.commit(Batch(fill.edits + clear.edits))
              }
              var model = Model()
              model.apply(fill)
              model.apply(clear)
              try store.reading {
                try model.compare($0, [.a], "clear from \(text(from)) to \(text(to))")
              }
            }
          }
          try store.reading { view in
            for space in [Space.lowest, .b] {
              try require(
                try view.rows(space).count == keys.count,
                "clears of space 7 changed space \(space.id)")
            }
          }
        }
      },
      StoreCheck("An empty batch is a commit that changes nothing", .wrongData) { factory in
        try await Trial.store(factory) { store in
          let first = try store.change { $0.put(.a, [1], [1]) }
          let second = try store.apply(Batch(), factory.declared.strongest)
          try require(second > first, "an empty batch has no commit number of its own")
          let rows = try store.reading { try $0.rows(.a).count }
          try require(rows == 1, "an empty batch changed the store")
        }
      },
      StoreCheck("Deleting what is absent is no error", .wrongData) { factory in
        try await Trial.store(factory) { store in
          try store.change { batch in
            batch.delete(.a, [1])
            batch.clear(.b, from: [], to: [9])
            batch.put(.a, [2], [2])
          }
          let rows = try store.reading { try $0.rows(.a).count }
          try require(rows == 1, "deleting what is absent disturbed its batch")
        }
      },
      StoreCheck("A batch changes several spaces at once", .halfBatch) { factory in
        try await Trial.store(factory) { store in
          let spaces: [Space] = [.lowest, .a, .b, .c, .highest]
          try store.change { batch in for space in spaces { batch.put(space, [1], [space.id]) } }
          try store.reading { view in
            for space in spaces {
              try require(
                try view.value(space, [1]) == [space.id], "space \(space.id) misses its edit")
            }
          }
          // A layer's space may be taken.
          let every = (1...254).map { Space(id: $0, shape: .rows) }.filter { $0 != .layer }
          try store.change { batch in
            for space in spaces { batch.delete(space, [1]) }
            for space in every { batch.put(space, [space.id], [space.id]) }
          }
          try store.reading { view in
            for space in every {
              let rows = try view.rows(space)
              try require(
                rows == [Model.Row(key: [space.id], value: [space.id])],
                "of 253 spaces space \(space.id) has \(rows.map { text($0.key) }), "
                  + "expected \(text([space.id]))")
            }
          }
        }
      },
      StoreCheck("A batch takes 100,000 edits", .halfBatch) { factory in
        try await Trial.store(factory) { store in
          let count = 100_000
          try store.change { batch in
            // In an order far from sorted: 7,919 is prime to the count.
            for i in 0..<count { batch.put(.a, key(i * 7919 % count), key(i)) }
          }
          var next = 0
          var wrong: Int?
          try store.reading { view in
            try view.walk(.a, .atOrAfter([])) { found, _ in
              if found.compare(key(next)) != 0 { wrong = wrong ?? next }
              next += 1
              return .next
            }
          }
          try require(wrong == nil, "row \(wrong ?? 0) of 100,000 is not in its place")
          try require(next == count, "\(next) of 100,000 rows are there")
          try store.change { $0.clear(.a, from: key(1), to: key(count - 1)) }
          let rest = try store.reading { try $0.rows(.a).map(\.key) }
          try require(
            rest == [key(0), key(count - 1)], "a clear of 99,998 rows left \(rest.count)")
        }
      },
    ]
  }
}

extension Batch {
  /// A batch of edits.
  init(_ edits: [Edit]) {
    self.init()
    for edit in edits {
      switch edit {
      case .put(let space, let key, let value): put(space, key, value)
      case .delete(let space, let key): delete(space, key)
      case .clear(let space, let from, let to): clear(space, from: from, to: to)
      }
    }
  }
}
