import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Synchronization
import Testing

/// What a change costs.
@Suite struct CostTests {
  @Test("A change is looked at for the targets that it can concern, not for all")
  func affected() async throws {
    let asked = Mutex<[DocumentPath]>([])
    let access = DocumentAccess(allows: { _, request in
      if case .get(let path, _) = request { asked.withLock { $0.append(path) } }
      return true
    })
    let rig = try Rig(access: access)
    let link = rig.link()
    var listeners: [Listener] = []
    for stream in 0..<20 {
      let listener = Listener(link.transport.service)
      for target in 0..<50 {
        listener.add(TargetID(2 * target + 2), only("rooms/r\(stream)-\(target)"))
      }
      listeners.append(listener)
    }
    await rig.waitUntilIdle()
    asked.withLock { $0 = [] }
    link.resetCounts()
    try await rig.commit(set("rooms/r7-7", [("n", 1)]))
    await rig.waitUntilIdle()
    #expect(asked.withLock { $0 } == [document("rooms/r7-7")])
    #expect(link.counts.moments == 1)
    #expect(link.counts.documents == 1)
    #expect(listeners[7].paths(16) == ["rooms/r7-7"])
  }
}
