import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// While two trees are mended, anything may happen between two slices: commits, losses, evictions, a full
/// disk, and the end of the process. What is not damaged stays as a plain model has it.
@Suite struct MendingAttackTests {
  @Test(arguments: Seeded.seeds(12))
  func `Whatever comes between its slices, a mending comes to its end`(seed: UInt64) throws {
    var attack = try MendingAttack(seed)
    for _ in 0..<100 { try attack.step() }
    try attack.end()
  }

  @Test(arguments: Seeded.seeds(4))
  func `A mending may be cut off behind every slice`(seed: UInt64) throws {
    var attack = try MendingAttack(seed)
    for _ in 0..<60 {
      attack.engine.mender.slice()
      try attack.crash()
      try attack.step()
    }
    try attack.end()
  }
}
