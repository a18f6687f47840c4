#if Network
  import ConiferEngine
  import Dispatch

  /// Time that passes faster than it does, so that clients wait less between attempts.
  package struct FastClock: EngineClock {
    let factor: Int64
    private let queue = DispatchQueue(label: "fast clock")

    package init(_ factor: Int64) { self.factor = factor }

    package var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) * factor }
    package var wallTime: Int64 { 1_700_000_000_000 + now }

    package func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {
      let wait = max(0, moment - now) / factor + 1
      queue.asyncAfter(deadline: .now() + .milliseconds(Int(wait)), execute: body)
    }
  }
#endif
