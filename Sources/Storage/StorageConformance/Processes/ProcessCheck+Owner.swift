internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension ProcessCheck {
  /// Who may open a store, and when.
  static let ownership: [ProcessCheck] = [
    ProcessCheck(
      group: "processes",
      name: "a second process is told who owns the store, and gets in when the owner was killed",
      anomaly: .wrongError
    ) { trial in
      try await trial.run(endsBy: System.kill) {
        let owner = try trial.notes.wait(for: "open ")
        // The owner must be ended on every path.
        defer { trial.notes.add("go") }
        for _ in 0..<3 {
          do throws(StoreError) {
            _ = try trial.factory.open(trial.path, trial.factory.options)
          } catch {
            try require(error.code == .busy, "a second process got \(error), expected busy")
            try require(
              error.message.contains(owner),
              "the message to a second process does not name the owner \(owner): \(error.message)")
            continue
          }
          throw ConformanceFailure("the store was opened while process \(owner) owned it")
        }
      }
      let backend = try trial.open()
      let found = try backend.text("killed")
      try await backend.close()
      try require(
        found == "committed", .lostAcknowledged,
        "the killed owner's commit at .process is gone: \(found ?? "nothing")")
    } child: { trial in
      let backend = try trial.open()
      try await backend.set("killed", "committed")
      trial.note("open \(System.processID)")
      _ = try trial.notes.wait(for: "go")
      _ = try backend.text("killed")
      System.killSelf()
    },
    ProcessCheck(
      group: "processes", name: "while a store is suspended another process may own it",
      anomaly: .leak
    ) { trial in
      let backend = try trial.open()
      try await backend.set("first", "one")
      try await backend.suspend()
      let locks = System.lastingLocks(under: trial.directory) ?? []
      try require(locks.isEmpty, "locks are held while suspended: \(locks)")
      try await trial.run()
      try await backend.resume()
      let found = try backend.text("second")
      try require(
        found == "two", .lostAcknowledged,
        "after resume the other process's commit is \(found ?? "gone")")
      try await backend.set("third", "three")
      try await backend.close()
    } child: { trial in
      let backend = try trial.open()
      let found = try backend.text("first")
      try require(
        found == "one", .lostAcknowledged, "suspending left \(found ?? "nothing") of a commit")
      try await backend.set("second", "two")
      try await backend.close()
    },
  ]
}

extension StorageBackend {
  /// Writes a text under a key of the tree `main`.
  func set(_ key: Key, _ text: String) async throws {
    let tree = try await tree(named: "main")
    try await commit([.overwrite(tree, Path([key]), Node(.string(text)))])
  }

  /// The text under a key of the first tree.
  func text(_ key: Key) throws -> String? {
    try read { (view) throws(StoreError) in
      guard let tree = try view.trees().first?.id else { return nil }
      guard case .string(let text)? = try view.node(tree, Path([key])).leaf else { return nil }
      return text
    }
  }
}
