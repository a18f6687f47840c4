import ConiferEngine
import Testing

/// What the app asks for and is invalid is told with its remedy in the message; all else has one by its code.
@Suite struct `Remedies` {
  static let codes: [DatabaseError.Code] = [
    .readOnly, .coding, .permissionDenied, .unavailable, .expiredToken, .invalidToken, .tooLarge,
    .refused, .disconnected, .notCached, .outcomeUnknown, .writeCanceled, .discarded, .overridden,
    .tooManyRetries, .unknownWrite, .inUse, .storageFull, .storageBusy, .storageMissing,
    .storageDamaged, .storageFailure,
  ]

  @Test(arguments: codes) func `are told by the code alone`(_ code: DatabaseError.Code) throws {
    let remedy = try #require(DatabaseError(code, "It failed.").remedy)
    #expect(remedy.hasSuffix("."))
  }

  @Test func `that are given count before those of the code`() {
    #expect(DatabaseError(.closed, "It failed.", remedy: "Wait.").remedy == "Wait.")
  }
}
