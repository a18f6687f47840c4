#if GRPC
  import ConiferEngine
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("The app's own tokens, without a server", .timeLimit(.minutes(5)))
  struct AppCheckTokensTests {
    @Test("A token that the server takes again is not replaced")
    func takenAgain() async throws {
      let clock = TestClock(0)
      let attestation = Attestation()
      let tokens = AppCheckTokens(attestation, clock: clock, sleep: ScriptedSleep().sleep)
      for _ in 0..<2 { tokens.refused(await tokens.current()) }
      #expect(await tokens.current() == "app-2")
      tokens.accepted("app-2")
      clock.pass(60_000)
      #expect(await tokens.current() == "app-2")
      #expect(attestation.asked == [false, true])
    }

    @Test("What the server takes without the token says nothing of it")
    func takenWithout() async throws {
      let attestation = Attestation()
      let tokens = AppCheckTokens(
        attestation, clock: TestClock(0), sleep: ScriptedSleep().sleep)
      tokens.refused(await tokens.current())
      for other in [nil, "other"] { tokens.accepted(other) }
      #expect(await tokens.current() == "app-2")
      #expect(attestation.asked == [false, true])
    }

    @Test("After a failure the time of day may be set back, as it is another clock that counts")
    func setBack() async throws {
      let clock = TestClock(40_000_000_000)
      let attestation = Attestation()
      attestation.fail()
      let tokens = AppCheckTokens(attestation, clock: clock, sleep: ScriptedSleep().sleep)
      #expect(await tokens.current() == nil)
      attestation.recover()
      clock.wallTime = 0
      clock.pass(30_000)
      #expect(await tokens.current() == "app-1")
    }

    @Test("An answer that does not come for five minutes is lost, and the provider is asked again")
    func lost() async throws {
      let clock = TestClock(0)
      let attestation = Attestation()
      attestation.hold()
      let sleep = ScriptedSleep()
      let tokens = AppCheckTokens(attestation, clock: clock, sleep: sleep.sleep)
      let first = Task { await tokens.current() }
      try await eventually("No call waits.") { sleep.lengths.contains(.seconds(10)) }
      sleep.end(.seconds(10))
      #expect(await first.value == nil)
      try await attestation.waits(for: 1)
      attestation.stopHolding()
      clock.pass(299_999)
      #expect(await tokens.current() == nil)
      #expect(attestation.asked == [false])
      clock.pass(1)
      #expect(await tokens.current() == "app-1")
      #expect(attestation.asked == [false, false])
      attestation.release()
    }

    @Test("When the app has another one the next call waits for it, and shows the old one at worst")
    func changed() async throws {
      let sleep = ScriptedSleep()
      let attestation = Attestation()
      let tokens = AppCheckTokens(attestation, clock: TestClock(0), sleep: sleep.sleep)
      #expect(await tokens.current() == "app-1")
      attestation.change()
      #expect(await tokens.current() == "app-1")
      attestation.hold()
      tokens.changed()
      let slow = Task { await tokens.current() }
      try await eventually("No call waits.") { sleep.lengths.contains(.seconds(10)) }
      sleep.end(.seconds(10))
      #expect(await slow.value == "app-1")
      // The answer may be lost, so the app's next word has it asked for anew.
      try await attestation.waits(for: 2)
      attestation.stopHolding()
      tokens.changed()
      #expect(await tokens.current() == "app-2")
      #expect(attestation.asked == [false, false, false])
      attestation.release()
    }

    @Test("An answer that was on its way when the app got another one is shown until that comes")
    func changedMeanwhile() async throws {
      let attestation = Attestation()
      attestation.hold()
      let tokens = AppCheckTokens(
        attestation, clock: TestClock(0), sleep: ScriptedSleep().sleep)
      let first = Task { await tokens.current() }
      try await attestation.waits(for: 1)
      tokens.changed()
      attestation.release()
      #expect(await first.value == "app-1")
      attestation.change()
      #expect(await tokens.current() == "app-2")
      #expect(await tokens.current() == "app-2")
      #expect(attestation.asked == [false, false])
    }

    @Test("A provider that tells of the one that it is forced to give is not asked once more")
    func changedByForce() async throws {
      let attestation = Attestation()
      let tokens = AppCheckTokens(
        attestation, clock: TestClock(0), sleep: ScriptedSleep().sleep)
      tokens.refused(await tokens.current())
      attestation.hold()
      let next = Task { await tokens.current() }
      try await attestation.waits(for: 2)
      tokens.changed()
      attestation.release()
      #expect(await next.value == "app-2")
      #expect(await tokens.current() == "app-2")
      #expect(attestation.asked == [false, true])
    }

    @Test("A token whose lifetime is half over is shown while another one is fetched")
    func renewed() async throws {
      let clock = TestClock(1_000_000)
      let attestation = Attestation(expiry: 1_000_100)
      let tokens = AppCheckTokens(attestation, clock: clock)
      #expect(await tokens.current() == "app-1")
      clock.wallTime = 1_000_050
      attestation.hold()
      #expect(await tokens.current() == "app-1")
      try await attestation.waits(for: 2)
      #expect(await tokens.current() == "app-1")
      attestation.release()
      try await eventually("The answer is not there.") { await tokens.current() != "app-1" }
      #expect(attestation.asked == [false, true])
      #expect(await tokens.current() == "app-2")
      clock.wallTime = 1_000_200
      #expect(await tokens.current() == "app-3")
    }
  }
#endif
