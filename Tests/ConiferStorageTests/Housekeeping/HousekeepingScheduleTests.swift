import ConiferKeyValue
import ConiferStorage
import Testing

/// When slices of housekeeping are done, decided without a storage.
@Suite struct HousekeepingScheduleTests {
  private typealias Action = HousekeepingSchedule.Action

  private static let quiet = HousekeepingSchedule.Pace().quiet
  private static let size = StoreSize(live: 1 << 20, free: 0, file: 1 << 20)

  private func schedule() -> HousekeepingSchedule { HousekeepingSchedule(at: 0) }

  private func failure(_ code: StoreError.Code) -> Result<Bool, StoreError> {
    .failure(StoreError(code, "as the test has it"))
  }

  /// A schedule for which nothing is left to do.
  private func resting(at now: Int64 = Self.quiet) -> HousekeepingSchedule {
    var schedule = schedule()
    #expect(schedule.next(at: now) == .slice)
    #expect(schedule.sliceEnded(.success(false), size: Self.size, at: now) == nil)
    return schedule
  }

  @Test func `Slices begin when the storage was not used for a while, and follow one another`() {
    var schedule = schedule()
    #expect(schedule.next(at: 0) == .wake(at: Self.quiet))
    schedule.used(at: 500)
    #expect(schedule.next(at: Self.quiet) == .wake(at: Self.quiet + 500))
    let now = Self.quiet + 500
    #expect(schedule.next(at: now) == .slice)
    #expect(schedule.next(at: now) == .none)
    #expect(schedule.sliceEnded(.success(true), size: nil, at: now + 5) == nil)
    #expect(schedule.next(at: now + 5) == .slice)
  }

  @Test func `After a use between two slices the storage is left alone again`() {
    var schedule = schedule()
    #expect(schedule.next(at: Self.quiet) == .slice)
    schedule.used(at: Self.quiet + 1)
    _ = schedule.sliceEnded(.success(true), size: nil, at: Self.quiet + 5)
    #expect(schedule.next(at: Self.quiet + 300) == .wake(at: 2 * Self.quiet + 1))
  }

  @Test func `No slice begins while a commit waits or is made durable`() {
    var schedule = schedule()
    schedule.commitBegan(at: 0)
    schedule.commitBegan(at: 1)
    schedule.commitEnded(edits: 1, at: 2)
    // However long it takes.
    #expect(schedule.next(at: 1_000_000) == .none)
    schedule.commitEnded(edits: 0, at: 1_000_000)
    #expect(schedule.next(at: 1_000_000) == .wake(at: 1_000_250))
  }

  @Test func `A storage that is never left alone gets single slices in short pauses`() {
    var schedule = schedule()
    var (now, slices) = (0 as Int64, [Int64]())
    while now < 62_000 {
      now += 1
      if now % 20 == 0 { schedule.used(at: now) }
      guard schedule.next(at: now) == .slice else { continue }
      slices.append(now)
      #expect(now % 20 >= 10, "\(now)")
      #expect(schedule.sliceEnded(.success(true), size: nil, at: now) == nil)
    }
    #expect(slices.first.map { $0 >= 60_000 } == true, "\(slices)")
    #expect((2...9).contains(slices.count), "\(slices)")
    for (one, next) in zip(slices, slices.dropFirst()) { #expect(next - one >= 250) }
  }

  @Test func `It rests until enough was written`() {
    var schedule = resting()
    var now = Self.quiet
    #expect(schedule.next(at: now * 100) == .none)
    for _ in 0..<63 {
      schedule.commitBegan(at: now)
      schedule.commitEnded(edits: 1, at: now)
    }
    #expect(schedule.next(at: now) == .wake(at: now + Self.quiet))
    now += Self.quiet
    #expect(schedule.next(at: now) == .measure)
    schedule.measured(Self.size, at: now)
    // The size is not asked for again until more is written.
    #expect(schedule.next(at: now) == .none)
    schedule.commitBegan(at: now)
    schedule.commitEnded(edits: 1, at: now)
    now += Self.quiet
    #expect(schedule.next(at: now) == .measure)
    schedule.measured(Self.size, at: now)
    #expect(schedule.next(at: now) == .slice)
  }

  @Test(arguments: [(0, 600 << 10), (400 << 10, 0), (-600 << 10, 0)])
  func `A single edit is enough when it changes the size`(live: Int, free: Int) {
    var schedule = resting()
    var now = Self.quiet
    schedule.commitBegan(at: now)
    schedule.commitEnded(edits: 1, at: now)
    now += Self.quiet
    #expect(schedule.next(at: now) == .measure)
    schedule.measured(
      StoreSize(live: Self.size.live + live, free: free, file: Self.size.file), at: now)
    #expect(schedule.next(at: now) == .slice)
  }

  @Test func `In a large store more must be written`() {
    var schedule = schedule()
    #expect(schedule.next(at: Self.quiet) == .slice)
    let large = StoreSize(live: 64 << 20, free: 0, file: 64 << 20)
    _ = schedule.sliceEnded(.success(false), size: large, at: Self.quiet)
    var now = Self.quiet
    for edits in [1_000, 23, 1] {
      schedule.commitBegan(at: now)
      schedule.commitEnded(edits: edits, at: now)
      now += Self.quiet
      #expect(schedule.next(at: now) == .measure)
      schedule.measured(large, at: now)
    }
    #expect(schedule.next(at: now) == .slice)
  }

  @Test func `After errors the next slice comes twice as late, and the first one is told`() {
    var schedule = schedule()
    var now = Self.quiet
    var delays: [Int64] = []
    for number in 0..<12 {
      #expect(schedule.next(at: now) == .slice)
      let told = schedule.sliceEnded(failure(.full), size: nil, at: now)
      #expect((told == nil) == (number > 0))
      guard case .wake(let moment) = schedule.next(at: now) else {
        Issue.record("It is never tried again.")
        return
      }
      delays.append(moment - now)
      now = moment
    }
    #expect(delays.prefix(4) == [1_000, 2_000, 4_000, 8_000])
    #expect(delays.suffix(2) == [600_000, 600_000])
    // Once it works, an error is told again.
    #expect(schedule.next(at: now) == .slice)
    _ = schedule.sliceEnded(.success(true), size: nil, at: now)
    #expect(schedule.next(at: now) == .slice)
    #expect(schedule.sliceEnded(failure(.io), size: nil, at: now)?.code == .io)
    #expect(schedule.next(at: now) == .wake(at: now + 1_000))
  }

  @Test func `A suspended storage is left alone, and looked at when it is resumed`() {
    var schedule = schedule()
    #expect(schedule.next(at: Self.quiet) == .slice)
    schedule.suspended()
    #expect(schedule.sliceEnded(failure(.suspended), size: nil, at: Self.quiet) == nil)
    #expect(schedule.next(at: 1_000_000) == .none)
    schedule.resumed(at: 1_000_000)
    #expect(schedule.next(at: 1_000_000) == .wake(at: 1_000_000 + Self.quiet))
  }

  @Test(arguments: [true, false])
  func `A closed storage is left alone for good`(isTold: Bool) {
    var schedule = schedule()
    #expect(schedule.next(at: Self.quiet) == .slice)
    if isTold { schedule.ended() }
    #expect(schedule.sliceEnded(failure(.closed), size: nil, at: Self.quiet) == nil)
    schedule.resumed(at: Self.quiet)
    schedule.commitBegan(at: Self.quiet)
    schedule.commitEnded(edits: 10_000, at: Self.quiet)
    #expect(schedule.next(at: 1_000_000) == .none)
  }
}
