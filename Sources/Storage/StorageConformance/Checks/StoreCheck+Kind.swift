internal import ConiferKeyValue
internal import ConiferStorage

extension StoreCheck {
  static var kinds: [StoreCheck] { [lostFiles, otherKind, recordedKind, changedKind] }

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
        let other = Bytes("kind another-kind another-kind\n".utf8)
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
        let texts = ["pid 1\nstart gone/1\n", "", "kin", "kind ", "\u{0}\u{0}\u{0}", nil]
        for text in texts {
          try put(text.map { [factory.ownerFile ?? "": Bytes($0.utf8)] } ?? [:], trial)
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
          // A copy of the store may lack the file.
          Directory.remove(owner)
          if let text { try System.write(Bytes(text.utf8), to: owner) }
          let store = try trial.open()
          defer { try? store.close() }
          try store.reading { try model.compare($0, [.a, .c], "without a recorded kind") }
          try require(try kind() == line, "an opening did not record the kind again")
        }
      }
    }
  }

  /// A bit of the file changes; its store is sound, or gone with all of its files.
  private static var changedKind: StoreCheck {
    StoreCheck("A changed bit of the recorded kind keeps nobody from a sound store", .refused) {
      factory in
      try await Trial.run(factory) { trial in
        let owner = factory.ownerFile ?? ""
        let model = try fill(trial)
        let whole = try files(of: trial)
        let line = whole[owner] ?? []
        for place in line.indices.dropLast() {
          var files = whole
          files[owner]?[place] ^= 1 << UInt8(place % 7)
          try put(files, trial)
          let store = try trial.open()
          let mended: Bytes
          do {
            try store.reading { try model.compare($0, [.a, .c], "byte \(place) was changed") }
            mended = Bytes(try System.content(of: "\(trial.directory)/\(owner)").prefix(line.count))
          } catch {
            try? store.close()
            throw error
          }
          try store.close()
          try require(mended == line, "an opening did not mend byte \(place) of the owner's file")
          try put(files.filter { $0.key == owner }, trial)
          let before = try Self.files(of: trial)
          if let store = try opened(
            trial, "anything but \(owner) with byte \(place) changed", before)
          {
            try? store.close()
            throw ConformanceFailure(.silentLoss, "a lost store was begun anew")
          }
        }
      }
    }
  }

  static var firstOpenings: [StoreCheck] {
    [
      StoreCheck("A first opening that is cut off anywhere leaves a store that opens", .refused) {
        factory in
        let first = try System.makeTemporaryDirectory(isFast: true)
        defer { System.removeTree(first) }
        let session = try IOSession.record(first)
        defer { session.end() }
        let store = try factory.open(first)
        let opening = session.entries().count
        try store.close()
        let entries = session.entries()
        session.end()
        var disk = SimulatedDisk()
        for (index, entry) in entries.enumerated() where disk.play(entry) {
          // The first image is what a killed process leaves.
          for image in DiskImage.some(at: index) {
            try await Trial.run(factory) { trial in
              try disk.write(image, to: trial.directory)
              do {
                // Twice, as what the first one mends might not last.
                _ = try fill(trial)
                try trial.open().close()
              } catch {
                throw ConformanceFailure(
                  "\(index < opening ? "opening" : "closing") a new store was cut off after "
                    + "operation \(index), \(entry), image \(image): \(error)")
              }
            }
          }
        }
      }
    ]
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
