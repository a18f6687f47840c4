internal import ConiferKeyValue
internal import ConiferStorage

extension StoreCheck {
  static var kinds: [StoreCheck] { [lostFiles, otherKind, recordedKind] }

  /// Each file alone, then all of them. A file that holds no data may be missing; what is lost with
  /// the others must be told.
  private static var lostFiles: StoreCheck {
    StoreCheck("A store that lost a file, or all of them, is never begun anew", .silentLoss) {
      factory in
      try await Trial.run(factory) { trial in
        let model = try fill(trial)
        let owner = factory.ownerFile ?? ""
        let whole = try files(of: trial)
        for lost in whole.keys.sorted().filter({ $0 != owner }).map({ [$0] })
          + [whole.keys.filter { $0 != owner }]
        {
          for name in lost { Directory.remove("\(trial.directory)/\(name)") }
          let before = try files(of: trial)
          let what = lost.count == 1 ? lost[0] : "everything but \(owner)"
          if let store = try opened(trial, what, before) {
            defer { try? store.close() }
            do {
              if store.findings.isEmpty {
                try store.reading { try model.compare($0, [.a, .c], "without \(what)") }
              }
            } catch let error as StoreError where error.code == .damaged {}
          }
          try put(whole, trial)
        }
        let store = try trial.open()
        defer { try? store.close() }
        try store.reading { try model.compare($0, [.a, .c], "with all files back") }
      }
    }
  }

  /// The store of a directory that lacks something, or nil when it is refused as damaged.
  private static func opened(
    _ trial: Trial, _ what: String, _ before: [String: Bytes]
  ) throws -> (any OrderedStore)? {
    do throws(StoreError) {
      return try trial.factory.open(trial.directory)
    } catch {
      try require(
        error.code == .damaged, .wrongError,
        "opening without \(what) threw \(error), expected damaged")
      try require(!error.message.isEmpty, "damaged came without a message")
      let after = try files(of: trial)
      try require(after == before, "a refused opening without \(what) changed the directory")
      return nil
    }
  }

  private static var otherKind: StoreCheck {
    StoreCheck("A directory of another kind of store is refused and stays as it is", .wrongError) {
      factory in
      try await Trial.run(factory) { trial in
        let owner = factory.ownerFile ?? ""
        let other = Bytes("kind another-kind\n".utf8)
        func refused() throws {
          let before = try files(of: trial)
          do throws(StoreError) {
            try factory.open(trial.directory).close()
          } catch {
            try require(error.code == .foreign, "it threw \(error), expected foreign")
            try require(
              error.message.contains("another-kind"),
              "the message does not name the other kind: \(error.message)")
            let after = try files(of: trial)
            try require(after == before, "the directory was changed")
            return
          }
          throw ConformanceFailure("a store was opened or made in it")
        }
        try put([owner: other, "letter": [1, 2, 3]], trial)
        try refused()
        try put([:], trial)
        let model = try fill(trial)
        var whole = try files(of: trial)
        let own = whole[owner]
        whole[owner] = other
        try put(whole, trial)
        try refused()
        whole[owner] = own
        try put(whole, trial)
        let store = try trial.open()
        defer { try? store.close() }
        try store.reading { try model.compare($0, [.a, .c], "after another kind was refused") }
      }
    }
  }

  private static var recordedKind: StoreCheck {
    StoreCheck("The owner's file records the kind, and one without it blocks nobody", .broken) {
      factory in
      try await Trial.run(factory) { trial in
        let owner = "\(trial.directory)/\(factory.ownerFile ?? "")"
        func kind() throws -> String? { try System.lines(of: owner).first.map(String.init) }
        // A process that was killed before it had made the store left the file alone; so does a
        // version that records no kinds when it closes a store.
        let texts = ["pid 1\nstart gone/1\n", "", "kin", "kind ", "\u{0}\u{0}\u{0}"]
        for text in texts {
          try put([factory.ownerFile ?? "": Bytes(text.utf8)], trial)
          let store = try trial.open()
          let line = try kind()
          try store.close()
          try require(
            line?.hasPrefix("kind ") == true,
            "the file of a new store begins with \(line ?? "nothing"), expected its kind")
        }
        let model = try fill(trial)
        let line = try kind()
        try require(
          try System.content(of: owner) == Bytes(((line ?? "") + "\n").utf8)
            && line?.hasPrefix("kind ") == true,
          "a closed store's file holds \(line ?? "nothing"), expected its kind alone")
        for text in texts {
          try System.write(Bytes(text.utf8), to: owner)
          let store = try trial.open()
          defer { try? store.close() }
          try store.reading { try model.compare($0, [.a, .c], "without a recorded kind") }
          try require(try kind() == line, "an opening did not record the kind again")
        }
      }
    }
  }

  /// Makes a store with some rows and closes it.
  private static func fill(_ trial: Trial) throws -> Model {
    let store = try trial.open()
    defer { try? store.close() }
    var model = Model()
    for round in 0..<3 {
      var batch = Batch()
      for i in 0..<10 {
        batch.put(.a, key(round * 10 + i), value(i, 60))
        batch.put(.c, key(round * 10 + i), value(i, 40))
      }
      try store.commit(batch, trial.strongest)
      model.apply(batch)
    }
    try store.close()
    return model
  }

  private static func files(of trial: Trial) throws -> [String: Bytes] {
    var files: [String: Bytes] = [:]
    for name in System.names(in: trial.directory) {
      let path = "\(trial.directory)/\(name)"
      if !System.isDirectory(path) { files[name] = try System.content(of: path) }
    }
    return files
  }

  /// Makes a directory hold these files alone.
  private static func put(_ files: [String: Bytes], _ trial: Trial) throws {
    for name in System.names(in: trial.directory) {
      Directory.remove("\(trial.directory)/\(name)")
    }
    for (name, bytes) in files { try System.write(bytes, to: "\(trial.directory)/\(name)") }
  }
}
