import ConiferKeyValue
import ConiferLeafStore
import Testing

@testable import ConiferStorage

@Suite("What is done about damage")
struct DamagePolicyTests {
  private static let place = StoreError.Place(space: Spaces.usage.id, key: [0, 0, 0, 1])
  private static let damage = StoreError(
    .damaged, "A record is damaged.", cause: "the record", place: place)

  /// Reads a damaged record, whose repair throws.
  private static func read(_ repair: StoreError) -> StoreError? {
    do throws(StoreError) {
      try DamagePolicy(role: .cache).retrying { (_) throws(StoreError) in
        throw damage
      } repair: { (_) throws(StoreError) in
        throw repair
      } recover: { () throws(StoreError) in
        false
      }
      return nil
    } catch { return error }
  }

  @Test(
    "Where a repair meets other damage, the error is of the record and tells why it was not repaired"
  )
  func failedRepair() throws {
    let other = StoreError(.damaged, "Another record is damaged.", cause: "the other")
    let error = try #require(Self.read(other))
    #expect(error.code == .damaged)
    #expect(error.place == Self.place)
    #expect(error.message == Self.damage.message)
    let cause = try #require(error.cause)
    #expect(
      cause.contains("the record") && cause.contains("Another record is damaged. (the other)"))
  }

  @Test("Where a repair fails for another reason, that is the error")
  func otherError() throws {
    let error = try #require(Self.read(StoreError(.full, "The disk is full.")))
    #expect(error.code == .full)
  }
}
