internal import ConiferKeyValue

extension StoreCheck {
  static var limits: [StoreCheck] {
    [
      StoreCheck("Keys up to the declared limit are kept", .wrongData) { factory in
        try await Trial.store(factory) { store in
          // Without a declared limit, 64 KiB represents any length.
          let limit = min(factory.declared.longestKey, 1 << 16)
          var batch = Batch()
          for (i, length) in [limit, limit - 1, limit / 2].enumerated() {
            for byte in [0, 0x61, 0xFF] as [UInt8] {
              batch.put(.a, Bytes(repeating: byte, count: length), [UInt8(i), byte])
            }
          }
          // Neighbours that differ only in the last byte.
          for last in [0, 1, 0xFF] as [UInt8] {
            batch.put(.a, Bytes(repeating: 0x62, count: limit - 1) + [last], [last])
          }
          try store.commit(batch)
          var model = Model()
          model.apply(batch)
          try store.reading { view in
            try Model.requireSame(
              try view.rows(.a), model[.a], "keys at the limit of \(limit) bytes")
          }
        }
      },
      StoreCheck(
        "A key above the limit is too large and nothing of its batch is applied", .halfBatch
      ) {
        factory in
        let limit = factory.declared.longestKey
        guard limit < 1 << 20 else { return }
        try await Trial.store(factory) { store in
          try store.change { $0.put(.a, [1], [1]) }
          for extra in [1, 2, 1000] {
            try expectCode([.tooLarge], "a key of \(limit + extra) bytes") {
              try store.change { batch in
                batch.put(.a, [1], [2])
                batch.put(.b, [2], [2])
                batch.put(.a, Bytes(repeating: 0x61, count: limit + extra), [3])
                batch.put(.c, [3], [2])
              }
            }
            try store.reading { view in
              try require(
                try view.value(.a, [1]) == [1] && view.rows(.b).isEmpty && view.rows(.c).isEmpty
                  && view.rows(.a).count == 1, "a batch that was refused changed the store")
            }
          }
          try store.change { $0.put(.a, [1], [4]) }
          try store.reading { view in
            try require(
              try view.value(.a, [1]) == [4],
              "the store takes no batch after one that was too large")
            try require(
              try view.rows(.a).count == 1 && view.rows(.b).isEmpty && view.rows(.c).isEmpty,
              "a batch that was refused came with the next one")
          }
        }
      },
      StoreCheck("Values of every size up to 10 MiB come back whole", .wrongData) { factory in
        try await Trial.store(factory) { store in
          let best = factory.declared.bestValueSize
          let sizes =
            [0, 1, 2, 100, 900, 2013, 2014, 2015, 4079, 4080, 4081, 8192, 65_535, 65_536, 1 << 20]
            + [best - 1, best, best + 1] + [10 << 20]
          for (i, size) in sizes.enumerated() {
            let bytes = value(i, size)
            try store.change { batch in
              batch.put(.b, key(i), bytes)
              batch.put(.a, key(i), [UInt8(i)])
            }
            let isSame = try store.reading { try $0.get(.b, key(i)) { System.isEqual($0, bytes) } }
            try require(isSame == true, "a value of \(size) bytes came back changed")
          }
          var wrong: [Int] = []
          var i = 0
          try store.reading { view in
            try view.walk(.b, .atOrAfter([])) { _, found in
              if i >= sizes.count || !System.isEqual(found, value(i, sizes[i])) { wrong.append(i) }
              i += 1
              return .next
            }
          }
          try require(
            wrong.isEmpty && i == sizes.count, "walked values \(wrong) of \(sizes) are changed")
          // Large into small and back, in place.
          for (round, size) in [10, 300_000, 0, 5000].enumerated() {
            try store.change { $0.put(.b, key(0), value(round, size)) }
            let found = try store.reading { try $0.value(.b, key(0)) }
            try require(found == value(round, size), "a value replaced by \(size) bytes is wrong")
          }
        }
      },
    ]
  }
}
