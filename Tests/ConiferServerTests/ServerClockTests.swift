import ConiferServer
import ConiferTree
import ConiferWire
import Testing

@Suite struct ServerClockTests {
  @Test func `A stopped clock moves when told to, also backwards`() {
    let clock = ServerClock(stoppedAt: 1000)
    #expect(clock.isStopped)
    #expect(clock.now == 1000)
    clock.advance(by: 50)
    #expect(clock.now == 1050)
    clock.advance(by: -100)
    #expect(clock.now == 950)
  }

  @Test func `The system's clock can be off by a time, and clients see that`() throws {
    let (right, ahead) = (ServerClock(), ServerClock(offset: 3_600_000))
    #expect(!right.isStopped)
    let before = right.now
    #expect(before > 1_700_000_000_000)
    let server = Server(ServerConfiguration(clock: ahead))
    let peer = Peer(server)
    let hello = try #require(peer.hello)
    #expect(hello.timestamp >= before + 3_600_000)
    ahead.advance(by: -7_200_000)
    peer.put("t", Node(.serverValue(.timestamp)))
    let stamp = try #require(server.data("t", in: "ns").leaf?.number)
    #expect(Int64(stamp) <= right.now - 3_600_000)
    #expect(Int64(stamp) >= before - 3_600_000)
  }
}
