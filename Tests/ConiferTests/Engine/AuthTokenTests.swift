import ConiferEngine
import Testing

/// Sign-in tokens in logs.
@Suite struct AuthTokenTests {
  @Test func `No way of printing shows the token`() {
    let token = AuthToken("the secret", identity: "ann", expiry: 7)
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped] {
      #expect(!text.contains("secret"))
      #expect(text.contains("ann"))
    }
  }
}
