import TestSupport
import Testing

@Suite struct `Sync tree against a model` {
  @Test(arguments: Seeded.seeds(60))
  func `a random program shows what the whole tree and the writes make`(_ seed: UInt64) throws {
    var model = Model(seed: seed)
    do {
      for _ in 0..<150 { try model.step() }
      #expect(model.checks > 0, "CONIFER_SEED=\(seed): no listen was ever answered")
    } catch {
      Issue.record(
        "CONIFER_SEED=\(seed): \(error)\n\(model.log.suffix(40).joined(separator: "\n"))")
    }
  }
}
