#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("No nonce is used twice")
  struct NonceTests {
    @Test("Not across kills, refused batches, restored backups and copies", arguments: 1...6)
    func crashes(_ seed: Int) throws {
      var random = Seeded(UInt64(seed))
      let seals = Seals()
      var branches = [RecordingStore(seals: seals)]
      for _ in 0..<40 {
        // Any earlier state of any copy is opened again, with the same key.
        let from = branches[Int.random(in: 0..<branches.count, using: &random)]
        let base = try from.cut(after: Int.random(in: 0...from.batches.count, using: &random))
        branches.append(base)
        let store = try encrypted(base)
        base.mostBatches.withLock {
          $0 = base.batches.count + Int.random(in: 3...20, using: &random)
        }
        for _ in 0..<12 {
          var batch = Batch()
          for _ in 0..<Int.random(in: 1...5, using: &random) {
            let key = [
              UInt8.random(in: 0..<4, using: &random), UInt8.random(in: 0..<9, using: &random),
            ]
            batch.put(spaces[Int.random(in: 0..<3, using: &random)], key, [1, 2, 3])
          }
          do throws(StoreError) {
            try store.apply(batch, .process)
            if Int.random(in: 0..<10, using: &random) == 0 {
              try store.erase(StoreScope(prefix: [UInt8.random(in: 0..<4, using: &random)]))
            }
            // The key is the old one again, so that every branch opens with it.
            if Int.random(in: 0..<10, using: &random) == 0 { try store.rotate(to: keyA) }
            _ = try store.tidy(.zero)
          } catch {
            #expect(error.code == .full)
          }
        }
      }
      let (uses, repeated) = seals.state.withLock { ($0.uses.count, $0.repeated) }
      #expect(uses > 500)
      #expect(repeated.isEmpty, "seed \(seed): \(repeated.count) of \(uses) nonces repeat")
    }

    @Test("Two openings of one copied store seal the same record differently")
    func copies() throws {
      let base = RecordingStore()
      try encrypted(base).put(rows, [1, 1], [1])
      let count = base.batches.count
      let copies = [try base.cut(after: count), try base.cut(after: count)]
      for copy in copies { try encrypted(copy).put(rows, [1, 2], Bytes(repeating: 0, count: 64)) }
      let sealed = try copies.map { try $0.raw(rows, [1, 2]) }
      #expect(sealed[0].prefix(3) == sealed[1].prefix(3))
      #expect(sealed[0].dropFirst(3) != sealed[1].dropFirst(3))
      // What one copy sealed is damage in the other.
      try copies[0].forge(rows, [1, 2], sealed[1])
      let store = try encrypted(copies[0])
      #expect(code { () throws(StoreError) in _ = try store.value(rows, [1, 2]) } == .damaged)
    }

    @Test("A session ends after so many records or bytes")
    func limits() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try store.put(rows, [1, 1], [1])
      for change: (inout KeyRing.Current) -> Void in [
        { $0.records = KeyRing.mostRecords - 1 }, { $0.bytes = KeyRing.mostBytes },
      ] {
        try store.ring.change { (state) throws(StoreError) in
          if var current = state.current {
            change(&current)
            state.current = current
          }
        }
        var batch = Batch()
        for number in 0..<4 { batch.put(rows, [1, UInt8(number)], [7]) }
        try store.apply(batch, .process)
      }
      #expect(try base.own(LayerRecord.sessions).count == 3)
      let reopened = try encrypted(base)
      for number in 0..<4 { #expect(try reopened.value(rows, [1, UInt8(number)]) == [7]) }
    }

    @Test("Sessions that no record names are dropped, and there are never many")
    func sessions() throws {
      let base = RecordingStore()
      for number in 0..<300 {
        let store = try encrypted(base)
        try store.put(rows, [1, UInt8(number % 200)], [UInt8(number % 200)])
        while try store.tidy(.zero) {}
        #expect(try base.own(LayerRecord.sessions).count <= EncryptedStore.mostSessions + 1)
      }
      let store = try encrypted(base)
      for number in 0..<200 {
        #expect(try store.value(rows, [1, UInt8(number)]) == [UInt8(number)])
      }
    }

    @Test("A session that takes the number of a dropped one has a key of its own")
    func numbers() throws {
      let base = RecordingStore()
      let count = EncryptedStore.mostSessions + 1
      // Only the last two sessions are named, and only the last one's number is free afterwards.
      for number in 1...count {
        try encrypted(base).put(rows, [1, number < count ? 1 : 2], [UInt8(number)])
      }
      var store = try encrypted(base)
      #expect(try store.value(rows, [1, 2]) == [UInt8(count)])
      var batch = Batch()
      batch.delete(rows, [1, 2])
      try store.apply(batch, .process)
      while try store.tidy(.zero) {}
      #expect(try base.own(LayerRecord.sessions) == [LayerRecord.sessionKey(UInt32(count - 1))])
      try store.put(rows, [1, 0], [7])
      #expect(try base.own(LayerRecord.sessions).last == LayerRecord.sessionKey(UInt32(count)))
      store = try encrypted(base)
      #expect(try store.value(rows, [1, 1]) == [UInt8(count - 1)])
      #expect(try store.value(rows, [1, 0]) == [7])
    }
  }
#endif
