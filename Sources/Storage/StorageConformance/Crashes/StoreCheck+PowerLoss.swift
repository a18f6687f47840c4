internal import ConiferKeyValue

extension StoreCheck {
  /// Crashes of a store that random batches are applied to. `CONIFER_CRASHES` sets how many of them
  /// it must recover from, `CONIFER_SEED` which batches.
  static let powerLosses: [StoreCheck] = [
    StoreCheck(
      "After power loss or a kill a prefix of the batches is there, with every durable one",
      .lostAcknowledged
    ) { factory in
      let images = try Variable.count("CONIFER_CRASHES") ?? 200
      let seeds = try seeds(max(2, images / 300))
      var tried = 0
      for seed in seeds {
        // As many as an engine needs to fold its logs, and a flaw to show that comes with time.
        let record = try BatchRecord(factory, seed: seed, batches: 200)
        tried += try record.check(imagesAtMost: max(8, images / seeds.count))
      }
      CheckRecord.current?.count("images of power loss", tried)
    }
  ]
}
