internal import ConiferKeyValue

extension StoreCheck {
  /// Keys that any order but that of unsigned bytes gets wrong.
  static let adversarialKeys: [Bytes] = [
    [], [0], [0, 0], [0, 1], [0, 0xFF], [1], [1, 0], [0x41], [0x61], [0x61, 0], [0x61, 0x62],
    [0x61, 0x62, 0], [0x61, 0xFF], [0x7F], [0x7F, 0xFF], [0x80], [0x80, 0], [0xC3, 0xA9],
    [0x65, 0xCC, 0x81], [0xFE, 0xFF], [0xFF], [0xFF, 0], [0xFF, 0xFF], [0xFF, 0xFF, 0xFF],
  ]

  /// Origins of walks between, at, before and after the adversarial keys.
  private static var origins: [Bytes] {
    adversarialKeys + adversarialKeys.map { $0 + [0] } + adversarialKeys.map { $0 + [0x80] }
      + adversarialKeys.compactMap { key in
        guard let last = key.last, last > 0 else { return nil }
        return key.dropLast() + [last - 1, 0xFF]
      } + [Bytes(repeating: 0xFF, count: 64), Bytes(repeating: 0, count: 64)]
  }

  static var order: [StoreCheck] {
    [
      StoreCheck("Keys are ordered as unsigned bytes", .wrongData) { factory in
        try await Trial.store(factory) { store in
          var model = Model()
          var random = SeededRandom(seed: 1)
          for (i, key) in adversarialKeys.shuffled(using: &random).enumerated() {
            var batch = Batch()
            batch.put(.a, key, i % 3 == 0 ? [] : value(i, i))
            try store.commit(batch)
            model.apply(batch)
          }
          try store.reading { try model.compare($0, [.a], "adversarial keys") }
          let absent = try store.reading { try $0.value(.a, [0x62]) }
          try require(absent == nil, "a key that was never put has a value")
        }
      },
      StoreCheck("The empty key and the empty value are kept", .wrongData) { factory in
        try await Trial.store(factory) { store in
          try store.change { $0.put(.a, [], []) }
          try store.reading { view in
            try require(try view.value(.a, []) == [], "the empty value under the empty key is lost")
            try require(try view.rows(.a).count == 1, "a walk does not visit the empty key")
          }
          try store.change { $0.delete(.a, []) }
          let rest = try store.reading { try $0.value(.a, []) }
          try require(rest == nil, "the empty key cannot be deleted")
        }
      },
      StoreCheck("Walks begin exactly at or after, or at or before, their origin", .wrongData) {
        factory in
        try await Trial.store(factory) { store in
          var random = SeededRandom(seed: 2)
          for round in 0..<12 {
            let count = [0, 1, 2, 5, 12, 24][round % 6]
            var batch = Batch()
            batch.clear(.a, from: [], to: Bytes(repeating: 0xFF, count: 64))
            for (i, key) in adversarialKeys.shuffled(using: &random).prefix(count).enumerated() {
              batch.put(.a, key, [UInt8(i)])
            }
            try store.commit(batch)
            var model = Model()
            model.apply(batch)
            try store.reading { view in
              for key in origins {
                for origin in [Origin.atOrAfter(key), .atOrBefore(key)] {
                  let expected = model.walk(.a, origin) { _ in .next }
                  try Model.requireSame(try view.rows(.a, origin), expected, "\(origin)")
                }
              }
            }
          }
        }
      },
      StoreCheck("Keys longer than the limit are looked up as absent and begin walks", .wrongData) {
        factory in
        guard factory.declared.longestKey < 1 << 20 else { return }
        try await Trial.store(factory) { store in
          let limit = factory.declared.longestKey
          let longest = Bytes(repeating: 5, count: limit)
          try store.change { batch in
            batch.put(.a, longest, [1])
            batch.put(.a, [6], [2])
          }
          try store.reading { view in
            for extra in [1, 2, 100] {
              let key = longest + Bytes(repeating: 0, count: extra)
              try require(try view.value(.a, key) == nil, "a key of \(key.count) bytes was found")
              let up = try view.rows(.a, .atOrAfter(key)).map(\.key)
              try require(up == [[6]], "a walk up from a key of \(key.count) bytes begins wrong")
              let down = try view.rows(.a, .atOrBefore(key)).map(\.key)
              try require(
                down == [longest], "a walk down from a key of \(key.count) bytes begins wrong")
            }
          }
        }
      },
      StoreCheck("Walks stop when told", .wrongData) { factory in
        try await Trial.store(factory) { store in
          try store.change { batch in for i in 0..<20 { batch.put(.a, key(i), [UInt8(i)]) } }
          try store.reading { view in
            for origin in [Origin.atOrAfter([]), .atOrBefore([0xFF])] {
              var left = 3
              let rows = try view.rows(.a, origin) { _ in
                left -= 1
                return left > 0 ? .next : .stop
              }
              try require(rows.count == 3, "a walk told to stop at row 3 visited \(rows.count)")
            }
          }
        }
      },
      StoreCheck("Jumps go ahead, and a jump back goes to the neighbour", .wrongData) { factory in
        try await Trial.store(factory) { store in
          var batch = Batch()
          for (i, key) in adversarialKeys.enumerated() { batch.put(.a, key, [UInt8(i)]) }
          batch.put(.b, [], [1])
          try store.commit(batch)
          var model = Model()
          model.apply(batch)
          try store.reading { view in
            for target in origins {
              for origin in [Origin.atOrAfter([]), .atOrBefore(Bytes(repeating: 0xFF, count: 4))] {
                for turn in 0..<6 {
                  func step() -> (Model.Row) -> Step {
                    var visits = 0
                    return { _ in
                      visits += 1
                      // A walk that changes its direction would never end.
                      if visits > 100 { return .stop }
                      return visits == turn + 1 || visits % 5 == 4 ? .jump(target) : .next
                    }
                  }
                  try Model.requireSame(
                    try view.rows(.a, origin, step()), model.walk(.a, origin, step()),
                    "jump to \(text(target)) at visit \(turn + 1) from \(origin)")
                }
              }
            }
          }
        }
      },
      StoreCheck("Walks never leave their space", .phantom) { factory in
        try await Trial.store(factory) { store in
          let spaces: [Space] = [.lowest, .a, .b, .c, .highest]
          let wide = Bytes(repeating: 0xFF, count: 40)
          for filled in 0..<32 {
            var batch = Batch()
            for (i, space) in spaces.enumerated() {
              batch.clear(space, from: [], to: wide)
              guard filled >> i & 1 == 1 else { continue }
              for key in [[], [0], [0x80], [0xFF], [0xFF, 0xFF]] as [Bytes] {
                batch.put(space, key, [UInt8(i)])
              }
            }
            try store.commit(batch)
            var model = Model()
            model.apply(batch)
            try store.reading { view in
              for space in spaces {
                for key in [[], [0], [0x7F], [0xFF, 0xFF], wide] as [Bytes] {
                  for origin in [Origin.atOrAfter(key), .atOrBefore(key)] {
                    try Model.requireSame(
                      try view.rows(space, origin) { _ in .next },
                      model.walk(space, origin) { _ in .next }, "space \(space.id), \(origin)")
                    try Model.requireSame(
                      try view.rows(space, origin) { _ in .jump(wide) },
                      model.walk(space, origin) { _ in .jump(wide) },
                      "space \(space.id), \(origin), jumping to the end")
                  }
                }
              }
            }
          }
        }
      },
    ]
  }
}
