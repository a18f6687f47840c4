import Foundation
import Testing

@testable import Conifer

/// Errors as code sees them that was written for the Apple SDK.
@Suite struct `Errors of Foundation` {
  static let numbers: [(DatabaseError.Code, Int)] = [
    (.permissionDenied, 1), (.unavailable, 2), (.disconnected, 2), (.writeCanceled, 3),
    (.discarded, 3), (.tooManyRetries, 9999), (.expiredToken, 9999), (.coding, 9999),
    (.storageFull, 9999),
  ]

  @Test(arguments: numbers)
  func `have the domain and the number of the Apple SDK`(
    _ code: DatabaseError.Code, _ number: Int
  ) {
    let error: any Error = DatabaseError(code, "It failed.")
    let bridged = error as NSError
    #expect(bridged.domain == "com.firebase")
    #expect(bridged.code == number)
  }

  @Test func `say what happened, the remedy, the cause and the name of the code`() {
    let error = DatabaseError(.storageFull, "It failed.", cause: "ENOSPC")
    let text = "It failed. Free space on the disk, then write again."
    #expect(error.localizedDescription == text)
    let info = error.errorUserInfo
    #expect(info[NSLocalizedDescriptionKey] as? String == text)
    #expect(info[NSLocalizedFailureReasonErrorKey] as? String == "ENOSPC")
    #expect(
      info[NSLocalizedRecoverySuggestionErrorKey] as? String
        == "Free space on the disk, then write again.")
    #expect(info[DatabaseError.codeKey] as? String == "storage-full")
    let plain = DatabaseError(.invalidQuery, "A limit is at least 1.").errorUserInfo
    #expect(plain[NSLocalizedDescriptionKey] as? String == "A limit is at least 1.")
    #expect(plain[NSLocalizedFailureReasonErrorKey] == nil)
  }
}
