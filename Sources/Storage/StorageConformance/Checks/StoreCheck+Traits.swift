internal import ConiferKeyValue

extension StoreCheck {
  static var traits: [StoreCheck] {
    [
      StoreCheck("Traits are the declared ones and stay so") { factory in
        try await Trial.run(factory) { trial in
          for _ in 0..<2 {
            let store = try trial.open()
            defer { try? store.close() }
            let before = store.traits
            try require(
              before == factory.declared, "traits are \(before), declared were \(factory.declared)")
            try store.change { $0.put(.a, [1], [2]) }
            try require(store.traits == before, "traits changed while the store was open")
          }
        }
      },
      StoreCheck("Traits make sense") { factory in
        let traits = factory.declared
        // The engine's path keys need this much room before it cuts them.
        try require(traits.longestKey >= 64, "longestKey \(traits.longestKey) is below 64")
        try require(traits.bestValueSize > 0, "bestValueSize is not positive")
        try require(traits.writeQuantum > 0, "writeQuantum is not positive")
      },
    ]
  }

  /// Traits that are measured where the C library's calls can be watched.
  static var measuredTraits: [StoreCheck] {
    [
      StoreCheck("A commit of one small row writes about writeQuantum bytes") { factory in
        try await Trial.run(factory) { trial in
          let session = try IOSession.record(trial.directory)
          defer { session.end() }
          let store = try trial.open()
          defer { try? store.close() }
          func change(_ number: Int) throws {
            try store.change(factory.declared.strongest) { $0.put(.a, key(number), [1, 2, 3]) }
          }
          for number in 0..<8 { try change(number) }
          let before = session.writtenBytes
          let commits = 64
          for number in 0..<commits { try change(1000 + number) }
          let mean = (session.writtenBytes - before) / commits
          guard mean > 0 else { throw NotApplicable("its writes cannot be watched") }
          CheckRecord.current?.count("bytes a commit", mean)
          let declared = factory.declared.writeQuantum
          // A journal of rows and a tree of pages differ by a factor of 256.
          try require(
            mean <= 8 * declared && declared <= 8 * mean,
            "writeQuantum is \(declared), and a commit of one small row wrote \(mean) bytes")
        }
      }
    ]
  }
}

extension IOSession {
  /// How many bytes were written so far.
  fileprivate var writtenBytes: Int {
    entries().reduce(0) { sum, entry in
      if case .write(_, _, let bytes, _) = entry { sum + bytes.count } else { sum }
    }
  }
}
