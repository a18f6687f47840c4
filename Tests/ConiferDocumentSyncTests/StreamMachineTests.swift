import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `A stream` {
  private static let broken = StatusError(.unavailable, "")

  /// The delays of attempts that fail at once.
  private static func delays(_ count: Int, jitter: Double) -> [Milliseconds] {
    var stream = StreamMachine()
    var now: Milliseconds = 0
    return (0..<count).map { _ in
      let before = now
      if stream.start(at: now, jitter: jitter) != [.open] {
        now = stream.deadline ?? 0
        #expect(stream.tick(at: now) == [.open])
      }
      #expect(stream.failed(broken).isEmpty)
      return now - before
    }
  }

  @Test func `is tried at once, then with growing distance up to a minute`() {
    #expect(Self.delays(4, jitter: 0.5) == [0, 1_000, 1_500, 2_250])
    #expect(Self.delays(30, jitter: 0.5).last == 60_000)
    #expect(Self.delays(3, jitter: 0) == [0, 500, 750])
    #expect(Self.delays(3, jitter: 1) == [0, 1_500, 2_250])
    #expect(Self.delays(30, jitter: 1).last == 90_000)
  }

  @Test func `is tried at once after it served, or was stopped, or a request was at fault`() {
    var stream = StreamMachine()
    _ = stream.start(at: 0, jitter: 0.5)
    func fail() {
      #expect(stream.failed(Self.broken).isEmpty)
      #expect(stream.start(at: 0, jitter: 0.5).isEmpty)
    }
    fail()
    #expect(stream.stop().isEmpty)
    #expect(stream.start(at: 0, jitter: 0.5) == [.open])
    stream.opened()
    stream.served()
    #expect(stream.failed(Self.broken).isEmpty)
    #expect(stream.start(at: 0, jitter: 0.5) == [.open])
    #expect(stream.failed(Self.broken).isEmpty)
    stream.inhibitBackoff()
    #expect(stream.start(at: 0, jitter: 0.5) == [.open])
    #expect(stream.stop() == [.close])
  }

  @Test func `counts the time since the last attempt as waited`() {
    var stream = StreamMachine()
    _ = stream.start(at: 0, jitter: 0.5)
    _ = stream.failed(Self.broken)
    #expect(stream.start(at: 400, jitter: 0.5).isEmpty)
    #expect(stream.deadline == 1_000)
    #expect(stream.tick(at: 999).isEmpty && stream.tick(at: 1_000) == [.open])
  }

  @Test(arguments: [StatusCode.resourceExhausted, .dataLoss])
  func `is left alone for a minute when the server has had enough, or cannot be read`(
    code: StatusCode
  ) {
    var stream = StreamMachine()
    _ = stream.start(at: 0, jitter: 0.5)
    stream.opened()
    stream.served()
    _ = stream.failed(StatusError(code, ""))
    _ = stream.start(at: 0, jitter: 0.5)
    #expect(stream.deadline == 60_000)
  }

  @Test func `asks for another token when the server does not take the one it has, or no longer`() {
    let refused = StatusError(.unauthenticated, "")
    var stream = StreamMachine()
    _ = stream.start(at: 0, jitter: 0.5)
    #expect(stream.failed(refused) == [.invalidateToken])
    _ = stream.start(at: 5_000, jitter: 0.5)
    stream.opened()
    #expect(stream.failed(refused) == [.invalidateToken])
    _ = stream.start(at: 60_000, jitter: 0.5)
    stream.opened()
    #expect(stream.failed(refused) == [.invalidateToken])
  }

  @Test func `is closed after a minute without use`() {
    var stream = StreamMachine()
    _ = stream.start(at: 0, jitter: 0.5)
    stream.idle(at: 1)
    #expect(stream.deadline == nil && !stream.isOpen)
    stream.opened()
    stream.idle(at: 3)
    stream.idle(at: 9)
    #expect(stream.deadline == 60_003)
    stream.used()
    #expect(stream.deadline == nil && stream.isOpen)
    stream.idle(at: 10)
    #expect(stream.tick(at: 60_009).isEmpty && stream.tick(at: 60_010) == [.close])
    #expect(!stream.isOpen && stream.start(at: 60_020, jitter: 0.5) == [.open])
  }

  @Test func `is opened now when nobody wants to wait`() {
    var stream = StreamMachine()
    #expect(stream.skipBackoff(at: 0).isEmpty)
    _ = stream.start(at: 0, jitter: 0.5)
    _ = stream.failed(Self.broken)
    #expect(stream.start(at: 0, jitter: 0.5).isEmpty)
    #expect(stream.skipBackoff(at: 1) == [.open])
    _ = stream.failed(Self.broken)
    #expect(stream.skipBackoff(at: 1).isEmpty)
    #expect(stream.start(at: 1, jitter: 0.5) == [.open])
  }
}
