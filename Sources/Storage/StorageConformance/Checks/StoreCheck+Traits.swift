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
}
