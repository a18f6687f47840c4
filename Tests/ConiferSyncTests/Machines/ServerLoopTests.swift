import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: a server that sends the client round and round")
struct ServerLoopTests {
  private typealias Bench = ConnectionBench
  private let revoked = ServerMessage.push(.authRevoked(.expiredToken, reason: "again"))

  /// Revokes the token, lets the next one be asked for, and takes it.
  private func cycle(_ bench: inout ConnectionBench, _ text: String) {
    let shown = bench.tell(.token(Bench.token("ada", text)))
    bench.answer(shown.lastNumber)
  }

  @Test("tokens that are taken and revoked at once are asked for ever more slowly")
  func revokedAtOnce() {
    var bench = Bench(lane: Bench.lane("ada"), usesTokens: true)
    bench.connect(as: Bench.token("ada"))
    #expect(bench.receive(revoked).fetches == [true])
    cycle(&bench, "2")
    #expect(bench.receive(revoked).fetches.isEmpty)
    #expect(bench.pass(1_000).fetches == [true])
    cycle(&bench, "3")
    #expect(bench.receive(revoked).fetches.isEmpty)
    #expect(bench.pass(29_000).fetches.isEmpty)
    #expect(bench.pass(1_000).fetches == [true])
  }

  @Test("a request that was answered, or a long time, ends the slowness", arguments: [true, false])
  func trusted(byRequest: Bool) {
    var bench = Bench(lane: Bench.lane("ada"), usesTokens: true)
    bench.connect(as: Bench.token("ada"))
    bench.receive(revoked)
    cycle(&bench, "2")
    if byRequest {
      let sent = bench.give(.listen(Bench.listen("a"))).listens
      bench.answer(sent[0].number)
    } else {
      bench.pass(30_000)
    }
    #expect(bench.receive(revoked).fetches == [true])
  }

  @Test("only the first reset in a row connects at once")
  func resets() {
    var bench = Bench()
    bench.give(.reasonEnded(.starting))
    bench.hello()
    #expect(bench.receive(.reset(host: "b")).connects.count == 1)
    bench.hello()
    #expect(bench.receive(.reset(host: "a")).connects.isEmpty)
    #expect(bench.pass(1_000).connects.count == 1)
    bench.hello()
    bench.pass(31_000)
    #expect(bench.receive(.reset(host: "b")).connects.count == 1)
  }
}
