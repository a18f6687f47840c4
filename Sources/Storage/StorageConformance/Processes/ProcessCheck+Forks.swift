internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension ProcessCheck {
  /// The exit code of a forked child that was refused every call.
  private static let refused: Int32 = 42

  /// What the child processes of a store's owner may do and keep.
  static let forks: [ProcessCheck] = [
    ProcessCheck(
      group: "processes", name: "a forked child is refused and leaves the owner's store alone",
      anomaly: .wrongError
    ) { trial in
      try await trial.run()
      let backend = try trial.open()
      let found = try backend.text("after")
      try await backend.close()
      try require(
        found == "after the fork", .lostAcknowledged, "the owner's commit after a fork is gone")
    } child: { trial in
      let backend = try trial.open()
      try await backend.set("before", "before the fork")
      let (verifying, evicts) = (backend as? any VerifyingBackend, backend is any EvictingBackend)
      let pid = try System.fork()
      guard pid != 0 else {
        // Nothing here may wait: the child of a fork has one thread. A child that waits anyway ends
        // with 0 once that thread gives up, so 0 does not mean success.
        var code = refused
        func isRefused(_ call: () throws -> Void) -> Bool {
          do { try call() } catch { return (error as? StoreError)?.code == .invalid }
          return false
        }
        if !isRefused({ _ = try backend.text("before") }) { code = 1 }
        do {
          try await backend.set("child", "written by the child")
          code = 2
        } catch { if (error as? StoreError)?.code != .invalid { code = 2 } }
        if !isRefused({ _ = try backend.size() }) { code = 3 }
        if let verifying, !isRefused({ _ = try verifying.verify { _ in } }) { code = 4 }
        if evicts, backend.setActive(true, QueryID(rawValue: 1), in: TreeID(rawValue: 1)) {
          code = 5
        }
        System.exitNow(code)
      }
      let code = try System.wait(for: pid)
      let words = [
        0: "never got an answer", 1: "was not refused a read", 2: "was not refused a commit",
        3: "was not refused the size", 4: "was not refused verifying",
        5: "made a query active",
      ]
      try require(
        code == refused, "a forked child \(words[Int(code)] ?? "ended by \(code)") (as invalid)")
      let locks = System.locks(under: trial.directory)
      try require(
        locks?.isEmpty != true, .leak, "the end of a forked child freed the owner's lock")
      try await backend.set("after", "after the fork")
      try await backend.close()
    },
    ProcessCheck(
      group: "processes", name: "a program that the owner started does not keep its lock",
      anomaly: .leak
    ) { trial in
      try await trial.run(endsBy: System.kill) {
        let sleeper = Int32(try trial.notes.wait(for: "started "))
        // The owner's end is noticed once no process holds its pipes.
        defer { System.end(sleeper) }
        let backend = try trial.openOnceFree()
        try require(System.isAlive(sleeper), "the program ended before the store was opened")
        let found = try backend.text("killed")
        try require(found == "committed", .lostAcknowledged, "the owner's commit is gone")
      }
    } child: { trial in
      let backend = try trial.open()
      try await backend.set("killed", "committed")
      trial.note("started \(try System.startSleeper())")
      System.killSelf()
    },
  ]
}
