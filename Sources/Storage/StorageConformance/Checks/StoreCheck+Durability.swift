internal import ConiferKeyValue

extension StoreCheck {
  static var durability: [StoreCheck] {
    [
      StoreCheck("Every level up to the declared one is accepted, none above") { factory in
        try await Trial.store(factory) { store in
          for (i, level) in Durability.allCases.enumerated() {
            if level <= factory.declared.strongest {
              try store.change(level) { $0.put(.a, key(i), [1]) }
              let found = try store.reading { try $0.value(.a, key(i)) }
              try require(found == [1], "a commit at .\(level) is not seen")
            } else {
              try expectCode([.unsupported], "a commit at .\(level)") {
                try store.change(level) { $0.put(.a, key(i), [1]) }
              }
              let found = try store.reading { try $0.value(.a, key(i)) }
              try require(found == nil, "a refused commit at .\(level) took effect")
            }
          }
        }
      },
      StoreCheck("Commit numbers increase", .reusedID) { factory in
        try await Trial.store(factory) { store in
          var last = CommitID(rawValue: 0)
          for i in 0..<30 {
            let level = i % 3 == 0 ? factory.declared.strongest : .relaxed
            let id: CommitID
            switch i % 4 {
            case 0: id = try store.apply(Batch(), level)
            case 1: id = try store.change(level) { $0.delete(.a, [9]) }
            default: id = try store.change(level) { $0.put(.a, [1], [UInt8(i)]) }
            }
            try require(
              id > last, "commit \(i) has number \(id.rawValue) after \(last.rawValue)")
            last = id
          }
        }
      },
      StoreCheck("Hardening changes no data", .wrongData) { factory in
        try await Trial.store(factory) { store in
          let first = try store.change { $0.put(.a, [1], [1]) }
          let second = try store.change { $0.put(.a, [2], [2]) }
          try store.harden(CommitID(rawValue: 0))
          try store.harden(first)
          try store.harden(second)
          try store.harden(second)
          let rows = try store.reading { try $0.rows(.a).count }
          try require(rows == 2, "hardening changed the rows")
        }
      },
      StoreCheck("Tidying changes no data", .wrongData) { factory in
        try await Trial.store(factory) { store in
          var model = Model()
          for round in 0..<20 {
            var batch = Batch()
            for i in 0..<30 { batch.put(.a, key(i * round % 97), value(round, 300)) }
            batch.clear(.a, from: key(round), to: key(round + 9))
            // A queue beside it, of which every other entry is deleted at once.
            batch.put(.c, key(2 * round), value(round, 100))
            batch.put(.c, key(2 * round + 1), value(round, 100))
            if round > 0 { batch.delete(.c, key(2 * round - 2)) }
            try store.commit(batch)
            model.apply(batch)
            let view = try store.view()
            _ = try store.tidy(.milliseconds(2))
            try model.compare(view, [.a, .c], "a view from before tidying")
            view.close()
            try store.reading { view in
              try model.compare(view, [.a], "a view from after tidying")
              do {
                try model.compare(view, [.c], "the queue after tidying")
              } catch let failure as ConformanceFailure {
                throw ConformanceFailure(.lostAcknowledged, failure.message)
              }
            }
          }
        }
      },
    ]
  }

  static var persistence: [StoreCheck] {
    [
      StoreCheck("Reopening keeps every commit", .lostAcknowledged) { factory in
        try await Trial.run(factory) { trial in
          var model = Model()
          for round in 0..<8 {
            let store = try trial.open()
            try store.reading { try model.compare($0, [.a, .b, .c], "after opening \(round)") }
            for (i, level) in Durability.allCases.enumerated() where level <= trial.strongest {
              var batch = Batch()
              batch.put(.a, key(round * 10 + i), value(round, 20))
              batch.put(.b, key(round), value(round, 9000))
              batch.put(.c, [], key(round))
              batch.delete(.a, key((round - 2) * 10))
              try store.commit(batch, level)
              model.apply(batch)
            }
            try store.close()
          }
        }
      },
      StoreCheck(
        "Dropping the store without closing it keeps every .process commit", .lostAcknowledged
      ) { factory in
        guard factory.declared.strongest >= .process else { return }
        try await Trial.run(factory) { trial in
          for round in 0..<5 {
            // Nobody closes it: the last reference goes at the end of the scope.
            let store = try trial.open()
            let rows = try store.reading { try $0.rows(.a).count }
            try require(rows == round, "\(rows) of \(round) commits are there")
            try store.change(.process) { $0.put(.a, key(round), [1]) }
          }
        }
      },
    ]
  }

  static var forgetfulness: [StoreCheck] {
    [
      StoreCheck("A store that is declared not to persist forgets", .resurrected) { factory in
        try await Trial.run(factory) { trial in
          let store = try trial.open()
          try store.change(trial.strongest) { $0.put(.a, [1], [1]) }
          try store.close()
          let again = try trial.open()
          defer { try? again.close() }
          let rows = try again.reading { try $0.rows(.a).count }
          try require(rows == 0, "data outlived close, so isPersistent must be declared")
        }
      }
    ]
  }
}
