import Conifer
import Testing

/// What the guides show is compiled here in Swift 5 mode; the tests in Swift 6 mode run it.
@Suite struct `The guides' code in Swift 5 mode` {
  @Test func `a mutable variable may be captured, as apps of that time do`() async {
    let database = Database(DatabaseConfiguration(namespace: "swift-5"))
    var seen = 0
    await withCheckedContinuation { continuation in
      database.reference(withPath: "a").setValue(1)
      database.reference(withPath: "a").observeSingleEvent(of: .value) { snapshot in
        seen = snapshot.value as? Int ?? 0
        continuation.resume()
      }
    }
    #expect(seen == 1)
    await database.close()
  }
}
