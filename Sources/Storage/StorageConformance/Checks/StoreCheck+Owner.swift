internal import ConiferKeyValue

extension StoreCheck {
  static var ownership: [StoreCheck] {
    [
      StoreCheck("A second opener is told who owns the store, which goes on unharmed", .wrongError)
      { factory in
        try await Trial.run(factory) { trial in
          let store = try trial.open()
          defer { try? store.close() }
          try store.change { $0.put(.a, [1], [1]) }
          for _ in 0..<3 {
            do throws(StoreError) {
              let second = try factory.open(trial.directory)
              try? second.close()
            } catch {
              try require(error.code == .busy, "a second opener got \(error), expected busy")
              try require(
                error.message.contains("\(System.processID)"),
                "the message to a second opener does not name the owner: \(error.message)")
              continue
            }
            throw ConformanceFailure("a second opener was let in")
          }
          try store.change { $0.put(.a, [2], [2]) }
          let rows = try store.reading { try $0.rows(.a).count }
          try require(rows == 2, "a refused second opener harmed the store")
          try store.close()
          let third = try trial.open()
          try third.close()
        }
      }
    ]
  }

  static var staleLocks: [StoreCheck] {
    [
      StoreCheck("A lock file of a dead owner blocks nobody", .refused) { factory in
        try await Trial.run(factory) { trial in
          let store = try trial.open()
          try store.change(trial.strongest) { $0.put(.a, [1], [1]) }
          try store.close()
          // The init process, an unused process id, our own id from an earlier boot, and files that
          // were cut while they were written.
          let name = trial.directory + "/" + (factory.ownerFile ?? "")
          for text in [
            "pid 1\nstart gone/1\n", "pid 2147483646\nstart gone/1\n",
            "pid \(System.processID)\nstart gone/1\n", "pid", "", "\u{0}\u{0}\u{0}",
          ] {
            try System.write(Bytes(text.utf8), to: name)
            let again = try trial.open()
            let found = try again.reading { try $0.value(.a, [1]) }
            try again.close()
            try require(found == [1], "a stale lock file harmed the store")
          }
        }
      }
    ]
  }

  static var suspension: [StoreCheck] {
    [
      StoreCheck("A suspended store refuses until resumed and keeps its data", .lostAcknowledged) {
        factory in
        try await Trial.store(factory) { store in
          var model = Model()
          var last = CommitID(rawValue: 0)
          for round in 0..<3 {
            var batch = Batch()
            for i in 0..<10 { batch.put(.a, key(round * 10 + i), value(round, 100)) }
            last = try store.apply(batch, .relaxed)
            model.apply(batch)
            let view = try store.view()
            view.close()
            try store.suspend()
            try store.suspend()
            try expectCode([.suspended], "apply") { try store.change { $0.put(.a, [1], [1]) } }
            try expectCode([.suspended], "view") { _ = try store.view() }
            try expectCode([.suspended], "harden") { try store.harden(last) }
            try expectCode([.suspended], "tidy") { _ = try store.tidy(.milliseconds(1)) }
            try store.resume()
            try store.resume()
            try store.reading { try model.compare($0, [.a], "after resume") }
            let next = try store.change { $0.put(.b, key(round), [1]) }
            try require(next > last, "commit numbers begin anew after resume")
          }
        }
      },
      StoreCheck("A suspended store holds no file lock and can be closed", .leak) { factory in
        try await Trial.run(factory) { trial in
          let store = try trial.open()
          try store.change { $0.put(.a, [1], [1]) }
          let view = try store.view()
          try store.suspend()
          let locks = System.lastingLocks(under: trial.directory) ?? []
          try require(locks.isEmpty, "locks are held while suspended: \(locks)")
          try expectCode([.closed, .suspended], "a view from before suspend") {
            _ = try view.value(.a, [1])
          }
          if factory.isExclusive {
            // Another owner may open it meanwhile; then it cannot be resumed.
            let other = try trial.open()
            try other.change { $0.put(.a, [2], [2]) }
            try expectCode([.busy], "resume while another owns the store") { try store.resume() }
            try expectCode([.suspended], "a view after a failed resume") { _ = try store.view() }
            try other.close()
            try store.resume()
            let rows = try store.reading { try $0.rows(.a).count }
            try require(
              rows == (factory.declared.isPersistent ? 2 : 1), "resume missed another's commit")
            try store.suspend()
          }
          try store.close()
          try expectCode([.closed], "resume after close") { try store.resume() }
          let again = try trial.open()
          try again.close()
        }
      },
    ]
  }
}
