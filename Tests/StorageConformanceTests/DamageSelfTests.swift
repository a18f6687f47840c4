import Testing

@testable import StorageConformance

@Suite("The kit tells a backend that deals wrongly with damage")
struct DamageSelfTests {
  static let caught: [(FlawedDamage, Anomaly, String)] = [
    (.beginsAnew, .lostAcknowledged, "a truncated file is reported, and nothing wrong is read"),
    (.traps, .trap, "a truncated file is reported, and nothing wrong is read"),
    (.hangs, .hang, "a truncated file is reported, and nothing wrong is read"),
    (.hidesIncidents, .silentLoss, "flipped bits are reported, and nothing wrong is read"),
    (.excusesNeedlessly, .silentLoss, "flipped bits are reported, and nothing wrong is read"),
  ]

  @Test("Every defect has a check that catches it")
  func complete() { #expect(Set(Self.caught.map(\.0)) == Set(FlawedDamage.allCases)) }

  @Test("A defect is caught by the check for it, by name", arguments: caught)
  func flawed(_ defect: FlawedDamage, _ anomaly: Anomaly, _ name: String) async throws {
    let check = try #require(ProcessCheck.all(for: defect.factory).first { $0.name == name })
    let failure = await #expect(throws: ConformanceFailure.self) {
      try await ProcessCheck.$damageCount.withValue(24) {
        try await ProcessCheck.$manyDamages.withValue(24) {
          try await ProcessCheck.$patience.withValue(defect == .hangs ? 5 : 60) {
            try await check.run(defect.factory) { order in
              await #expect(processExitsWith: .success) {
                [order = order as ProcessOrder, defect = defect as FlawedDamage] in
                await ProcessCheck.child(defect.factory, order)
              }
            }
          }
        }
      }
    }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
    let isOfExcuse = failure?.message.contains("'overlooks' excuses; take it out") ?? false
    #expect(isOfExcuse == (defect == .excusesNeedlessly), "\(failure?.description ?? "not caught")")
  }

  @Test("A store that cannot notice a changed key says so, and only such a one")
  func overlooked() async throws {
    let name = "A key changed in the files is told by opening, verify or reading"
    let check = try #require(StoreCheck.every.first { $0.name == name })
    let unsaid = await check.result(LooseStore.factory(overlooks: []))
    #expect(unsaid.outcome == .failed && unsaid.anomaly == .silentLoss, "\(unsaid)")
    let said = await check.result(LooseStore.factory(overlooks: [.silentLoss]))
    #expect(said.outcome == .partly && said.counts["changed rows"] == 3, "\(said)")
    let needless = await check.result(LooseStore.factory(overlooks: [.silentLoss, .staleView]))
    #expect(needless.outcome == .failed, "\(needless)")
    #expect(needless.reason?.contains("'overlooks' excuses; take it out") == true, "\(needless)")
  }
}
