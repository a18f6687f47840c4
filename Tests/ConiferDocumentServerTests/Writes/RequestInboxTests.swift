import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentServer

/// What waits for a database.
@Suite struct RequestInboxTests {
  @Test("Of a stream only so many requests wait, and its end; of others all")
  func bound() throws {
    var inbox = RequestInbox()
    let (loud, quiet) = (StreamID(rawValue: 1), StreamID(rawValue: 2))
    var begins = [inbox.add(.tick)]
    for _ in 0..<10_000 { begins.append(inbox.add(.writes(loud, .send([], token: [])))) }
    begins.append(inbox.add(.writes(quiet, .send([], token: []))))
    begins.append(inbox.add(.writes(loud, .close)))
    // Somebody does what waits until nothing does.
    #expect(begins.first == true && !begins.dropFirst().contains(true))
    let requests = inbox.take()
    try #require(requests.count == RequestInbox.mostOfStream + 4)
    guard case .flooded(loud) = requests[RequestInbox.mostOfStream + 1],
      case .writes(quiet, .send) = requests[RequestInbox.mostOfStream + 2],
      case .writes(loud, .close) = requests[RequestInbox.mostOfStream + 3]
    else {
      Issue.record("What waits is \(requests.suffix(3)).")
      return
    }
    begins = [inbox.add(.watch(loud, .remove(2)))]
    let counts = (0..<2).map { _ in inbox.take().count }
    begins.append(inbox.add(.tick))
    #expect(begins == [false, true] && counts == [1, 0])
  }

  @Test("A stream that sends more than may wait ends, and others go on")
  func flood() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let (loud, quiet) = (rig.link(), rig.link())
    let watch = Listener(loud.transport.service)
    let writer = Writer(quiet.transport.service)
    writer.greet()
    await rig.settle()
    // All comes while a commit is being stored.
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    for _ in 0..<RequestInbox.mostOfStream + 1 { watch.remove(2) }
    writer.send(try set("a/1", []))
    while rig.pump.step() {}
    backend.open()
    _ = try await committed.value
    await rig.settle()
    #expect((watch.now.closed ?? nil)?.message == RequestInbox.flooded.message)
    #expect(writer.now.answers.count == 1 && writer.now.closed == nil)
    try await rig.server.close()
  }
}
