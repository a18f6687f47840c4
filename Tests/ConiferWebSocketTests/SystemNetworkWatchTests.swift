#if Network && os(Linux)
  import Foundation
  import Glibc
  import NetworkTestSupport
  import Synchronization
  import Testing

  @testable import ConiferNetworkWatch

  @Suite(.timeLimit(.minutes(10))) struct SystemNetworkWatchTests {
    /// A message of the kernel's with a kind and a body of some bytes.
    private func message(_ kind: UInt16, body: Int = 8) -> [UInt8] {
      var length = UInt32(16 + body)
      var kind = kind
      var bytes = withUnsafeBytes(of: &length) { Array($0) }
      bytes += withUnsafeBytes(of: &kind) { Array($0) }
      bytes += [UInt8](repeating: 0, count: 10 + body)
      return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    @Test func `New addresses and routes are a network that returns, lost ones are not`() {
      let (newAddress, lostAddress, newRoute, lostRoute) =
        (message(20), message(21), message(24, body: 5), message(25, body: 5))
      let now = ContinuousClock.now
      func isReturn(_ texts: [UInt8]...) -> Bool {
        var changes = NetworkChanges()
        return changes.mayHaveReturned(texts, at: now)
      }
      #expect(isReturn(newAddress) && isReturn(newRoute))
      #expect(!isReturn(lostAddress, lostRoute) && !isReturn(lostRoute + lostAddress))
      #expect(isReturn(lostRoute + lostAddress + newAddress))
      #expect(isReturn([]), "what was lost may have been one")
      #expect(!isReturn())
    }

    @Test func `An address that is announced again and again is no return each time`() {
      var changes = NetworkChanges()
      let start = ContinuousClock.now
      func hears(_ kinds: UInt16..., after seconds: Int) -> Bool {
        changes.mayHaveReturned(kinds.map { message($0) }, at: start + .seconds(seconds))
      }
      let heard = [
        hears(20, after: 0), hears(20, 24, after: 29), hears(25, after: 29), hears(24, after: 29),
        hears(20, after: 58), hears(20, after: 59),
      ]
      #expect(heard == [true, false, false, true, false, true])
    }

    @Test func `Texts that are no messages are none`() {
      var forged = message(20)
      forged[0] = 3
      var long = message(21)
      long.replaceSubrange(0..<4, with: [255, 255, 255, 255])
      for texts in [[forged, [1], Array(message(20).prefix(15))], [long + message(20)]] {
        var changes = NetworkChanges()
        let isReturn = changes.mayHaveReturned(texts, at: .now)
        #expect(!isReturn)
      }
    }

    @Test(
      .enabled(
        if: LoopbackAddress.canChange, "This process may not add an address to the loopback."))
    func `The kernel tells of a new address`() async throws {
      try await LoopbackAddress.alone {
        // One that an interrupted run left would not be new.
        _ = try LoopbackAddress.change(1, isNew: false)
        let calls = Atomic(0)
        let watch = try #require(SystemNetworkWatch { calls.add(1, ordering: .relaxed) })
        // 127.0.0.0/8 is the loopback's already: nobody's traffic goes another way by one address of it.
        #expect(try LoopbackAddress.change(1, isNew: true))
        await wait(for: "word of the new address") { calls.load(ordering: .relaxed) > 0 }
        #expect(try LoopbackAddress.change(1, isNew: false))
        watch.stop()
      }
    }
  }
#endif
