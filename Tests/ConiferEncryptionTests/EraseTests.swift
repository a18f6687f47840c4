#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("A scope is erased by destroying its key")
  struct EraseTests {
    private static let first = StoreScope(prefix: [1])
    private static let own = Bytes(repeating: 7, count: 32)

    private static func fill(_ store: EncryptedStore) throws {
      for scope: UInt8 in 1...3 {
        for number: UInt8 in 0..<4 { try store.put(rows, [scope, number], [scope, number]) }
      }
    }

    /// What walks that begin before all, or inside the first scope, meet.
    private static func expectWithheld(_ store: EncryptedStore, _ words: String) throws {
      #expect(
        code { () throws(StoreError) in _ = try store.value(rows, [1, 2]) } == .wrongKey, "\(words)"
      )
      let view = try store.view()
      let error = caught { () throws(StoreError) in
        try view.walk(rows, .atOrAfter([1])) { _, _ in .next }
      }
      #expect(error?.code == .wrongKey && error?.place?.key == [1, 0], "\(words)")
      // The others are walked over whole, and all keys are there.
      #expect(try contents(view, rows).map { $0[0][0] } == [2, 2, 2, 2, 3, 3, 3, 3], "\(words)")
      var keys: [Bytes] = []
      try view.walkKeys(rows, .atOrAfter([])) { key, size in
        keys.append(Bytes(key) + [UInt8(size)])
        return .next
      }
      #expect(keys.count == 12 && keys.allSatisfy { $0.last == 2 }, "\(words)")
    }

    @Test("At once, for good, also in open views, while the others are as before")
    func erase() throws {
      let base = RecordingStore()
      var store = try encrypted(base)
      try Self.fill(store)
      let view = try store.view()
      #expect(try view.value(rows, [1, 0]) == [1, 0])
      try store.erase(Self.first)
      #expect(code { () throws(StoreError) in _ = try view.value(rows, [1, 0]) } == .wrongKey)
      try Self.expectWithheld(store, "at once")
      store = try encrypted(base)
      try Self.expectWithheld(store, "after reopening")
      // New records have a new key; the old ones stay unreadable until they are removed.
      try store.put(rows, [1, 9], [9])
      #expect(try store.value(rows, [1, 9]) == [9])
      #expect(code { () throws(StoreError) in _ = try store.value(rows, [1, 2]) } == .wrongKey)
      var batch = Batch()
      batch.delete(rows, [1, 0])
      batch.clear(rows, from: [1, 1], to: [1, 5])
      try store.apply(batch, .process)
      for store in [store, try encrypted(base)] {
        #expect(try contents(store.view(), rows).map { $0[0] }.prefix(2) == [[1, 9], [2, 0]])
      }
    }

    @Test("What is within a scope goes with it, a store with all of its scopes")
    func within() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try Self.fill(store)
      try store.put(rows, [], [5])
      try store.erase(.store)
      for key: Bytes in [[], [1, 0], [2, 0], [3, 3]] {
        #expect(code { () throws(StoreError) in _ = try store.value(rows, key) } == .wrongKey)
        let again = try encrypted(base)
        #expect(code { () throws(StoreError) in _ = try again.value(rows, key) } == .wrongKey)
      }
    }

    @Test("An old copy of an erased store is worth nothing to who has only the key after rotation")
    func oldPages() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try Self.fill(store)
      let old = try base.cut(after: base.batches.count)
      try store.erase(Self.first)
      try store.rotate(to: keyB)
      while try store.tidy(.zero) {}
      // The old pages, as they were and below the new header.
      #expect(code { () throws(StoreError) in _ = try encrypted(old, keyB) } == .wrongKey)
      try old.forge(
        .layer, LayerRecord.headerKey, base.raw(.layer, LayerRecord.headerKey))
      let mixed = try encrypted(old, keyB)
      #expect(code { () throws(StoreError) in _ = try mixed.value(rows, [1, 0]) } == .wrongKey)
    }

    @Test("A scope with a key of its own needs it for reading and writing, not for removing")
    func ownKey() throws {
      let base = RecordingStore()
      let asked = Mutex<[StoreScope]>([])
      var store = try encrypted(base) { scope in
        asked.withLock { $0.append(scope) }
        return scope == Self.first ? Self.own : nil
      }
      try Self.fill(store)
      #expect(asked.withLock { Set($0).count } == 3)
      for (key, words) in [(nil, "without"), (keyA, "with a wrong one")] as [(Bytes?, String)] {
        store = try encrypted(base) { _ in key }
        try Self.expectWithheld(store, words)
        #expect(code { () throws(StoreError) in try store.put(rows, [1, 7], [1]) } == .wrongKey)
        #expect(try store.value(rows, [2, 2]) == [2, 2])
      }
      store = try encrypted(base) { $0 == Self.first ? Self.own : nil }
      #expect(try store.value(rows, [1, 2]) == [1, 2])
      // The app destroys it: what is left is removed without.
      store = try encrypted(base)
      var batch = Batch()
      batch.clear(rows, from: [1], to: [2])
      try store.apply(batch, .process)
      #expect(try contents(store.view(), rows).count == 8)
    }

    @Test("A rotation without a scope's own key makes it no weaker")
    func noDowngrade() throws {
      let base = RecordingStore()
      var store = try encrypted(base) { _ in Self.own }
      try Self.fill(store)
      store = try encrypted(base)
      try store.rotate(to: keyB)
      #expect(code { () throws(StoreError) in try store.put(rows, [1, 7], [1]) } == .wrongKey)
      store = try encrypted(base, keyB) { _ in Self.own }
      try store.put(rows, [1, 7], [1])
      while try store.tidy(.zero) {}
      store = try encrypted(base, keyB)
      #expect(code { () throws(StoreError) in _ = try store.value(rows, [1, 7]) } == .wrongKey)
      #expect(code { () throws(StoreError) in _ = try store.value(rows, [1, 0]) } == .wrongKey)
    }

    @Test("An erasing that the store refuses changes nothing")
    func refused() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try Self.fill(store)
      base.mostBatches.withLock { $0 = base.batches.count }
      #expect(code { () throws(StoreError) in try store.erase(Self.first) } == .full)
      #expect(try store.value(rows, [1, 2]) == [1, 2])
      #expect(try encrypted(base).value(rows, [1, 2]) == [1, 2])
    }
  }
#endif
