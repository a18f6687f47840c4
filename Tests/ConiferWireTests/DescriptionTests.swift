import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

@Suite struct DescriptionTests {
  private let secret = "eyJ0b2tlbiI6InNlY3JldCJ9"

  private func texts(_ value: some Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return ["\(value)", String(reflecting: value), dumped]
  }

  @Test func `No form of a message shows a token`() {
    let credential = Credential(secret)
    for request in [Request.authenticate(credential), .appCheck(secret)] {
      let values: [Any] = [credential, request, ClientMessage.request(7, request), [request]]
      for value in values {
        for text in texts(value) { #expect(!text.contains(secret), "\(text)") }
      }
    }
  }

  @Test func `Requests are described by what they ask for, without data`() throws {
    let query = try QuerySpec.default.ordered(by: .key).limited(toFirst: 2)
    let cases: [(Request, String)] = [
      (.listen(QueryTarget("a/b"), tag: nil, hash: "", compound: nil), "listen /a/b"),
      (
        .listen(QueryTarget("a", query), tag: 3, hash: "x", compound: nil),
        "listen /a?{\"i\":\".key\",\"l\":2,\"vf\":\"l\"} tag 3 with hash"
      ),
      (
        .listen(
          QueryTarget("a"), tag: nil, hash: "x", compound: CompoundHash(of: ["b": 1, "c": 2])),
        "listen /a with 1 ranges"
      ),
      (.unlisten(QueryTarget("a"), tag: 4), "unlisten /a tag 4"),
      (.put("a", "words", hash: nil), "put /a, 7 bytes"),
      (.put("a", "words", hash: ""), "put /a, 7 bytes if unchanged"),
      (.merge("a", [NodeChange("b", "words")]), "merge /a, 1 changes"),
      (.onDisconnectCancel("a"), "onDisconnect cancel /a"),
      (.stats(["x": 1]), "stats, 1 counters"),
    ]
    for (request, text) in cases { #expect("\(request)" == text) }
    #expect("\(ClientMessage.request(9, .unauthenticate))" == "9 unauthenticate")
    #expect("\(ClientMessage.keepAlive)" == "keep-alive")
  }

  @Test func `Answers and pushes are described without data`() {
    let data: Node = ["a": "words"]
    let cases: [(ServerMessage, String)] = [
      (.hello(Hello(timestamp: 5, host: "h", session: "secret")), "hello from h at 5"),
      (.response(1, .ok), "1 ok"),
      (.response(2, Response(.permissionDenied, reason: "No")), "2 permission_denied: No"),
      (
        .response(3, Response(.ok, node: "words", warnings: ["no_index"])),
        "3 ok, 7 bytes, warns of no_index"
      ),
      (.push(.overwrite("a", "words", tag: 1)), "overwrite /a tag 1, 7 bytes"),
      (.push(.merge("a", [NodeChange("b", data)], tag: nil)), "merge /a, 1 changes"),
      (
        .push(.rangeMerge("a", [RangeMerge(start: nil, end: nil, node: data)], tag: nil)),
        "range merge /a, 1 ranges"
      ),
      (.push(.listenRevoked("a", .default)), "listen revoked /a default"),
      (.push(.authRevoked(.expiredToken, reason: "Late")), "auth revoked, expired_token: Late"),
      (.reset(host: "b"), "reset to b"),
    ]
    for (message, text) in cases { #expect("\(message)" == text) }
  }

  @Test func `Only puts and merges are writes`() {
    #expect(Request.put("a", 1, hash: nil).isWrite)
    #expect(Request.merge("a", []).isWrite)
    #expect(!Request.onDisconnectPut("a", 1).isWrite)
    #expect(!Request.get(QueryTarget("a")).isWrite)
  }
}
