import ConiferEngine
import Dispatch
import Logging
import TestSupport
import Testing

/// What the parts of an engine ask for, and when it is done.
@Suite struct OutboxTests {
  @Test func `The app is called while a step goes on once there is much to tell, in order`() {
    let (works, told) = (Gathered<@Sendable () -> Void>(), Gathered<Int>())
    let outbox = Outbox(
      EngineStorage(Logger(label: "test")),
      CallbackQueue(queue: .global()) { works.add($0) })
    for number in 0..<100 {
      outbox.addCall { told.add(number) }
      outbox.callAppEarly()
    }
    #expect(works.all.count > 1)
    for work in works.take() { work() }
    let early = told.all.count
    #expect(early > 0 && early < 100)
    outbox.callApp()
    for work in works.take() { work() }
    #expect(told.all == Array(0..<100))
  }
}
