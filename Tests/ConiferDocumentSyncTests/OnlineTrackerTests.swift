import Testing

@testable import ConiferDocumentSync

@Suite struct `Whether the server can be reached` {
  private typealias Change = OnlineTracker.Change

  @Test func `is no after one failure from the start`() {
    var tracker = OnlineTracker()
    #expect(tracker.state == .unknown && tracker.deadline == nil)
    #expect(tracker.streamStarted(at: 5) == nil)
    #expect(tracker.deadline == 10_005)
    #expect(tracker.streamFailed() == Change(state: .offline, isWarning: true))
    #expect(tracker.deadline == nil)
    // What is tried again stays offline until the server says something.
    #expect(tracker.streamStarted(at: 20) == nil)
    #expect(tracker.deadline == nil && tracker.state == .offline)
    #expect(tracker.set(.online) == Change(state: .online, isWarning: false))
  }

  @Test func `is no after ten seconds without a word`() {
    var tracker = OnlineTracker()
    #expect(tracker.streamStarted(at: 0) == nil)
    #expect(tracker.tick(at: 9_999) == nil)
    #expect(tracker.tick(at: 10_000) == Change(state: .offline, isWarning: true))
    #expect(tracker.tick(at: 30_000) == nil)
    // Only once.
    #expect(tracker.set(.unknown) == Change(state: .unknown, isWarning: false))
    #expect(tracker.streamFailed() == Change(state: .offline, isWarning: false))
  }

  @Test func `is open after one failure once it was reached, and no after two`() {
    var tracker = OnlineTracker()
    #expect(tracker.set(.online)?.state == .online)
    #expect(tracker.streamFailed() == Change(state: .unknown, isWarning: false))
    #expect(tracker.streamStarted(at: 100) == nil)
    #expect(tracker.deadline == 10_100)
    #expect(tracker.streamFailed() == Change(state: .offline, isWarning: false))
  }

  @Test func `is no when the app says so, and open when nothing is listened to`() {
    var tracker = OnlineTracker()
    #expect(tracker.streamStarted(at: 0) == nil)
    #expect(tracker.set(.offline) == Change(state: .offline, isWarning: false))
    #expect(tracker.deadline == nil)
    #expect(tracker.streamStarted(at: 9) == Change(state: .unknown, isWarning: false))
    #expect(tracker.set(.unknown) == nil)
    #expect(tracker.deadline == nil)
  }
}
